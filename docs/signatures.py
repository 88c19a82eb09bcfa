"""Show in the reference what is known only when the package runs: the arguments and settings that are handed on.

An extension of griffe, which reads the source for ``make docs``. A function under ``with_arguments_of(other)`` takes
what ``other`` takes. A class of settings takes its fields, by name.
"""

from typing import Any

import griffe

HANDED_ON = "with_arguments_of"
IN_INSTANCES, BY_NAME = "instance-attribute", griffe.ParameterKind.keyword_only
SETTINGS = "langchain_sentence_window._checked_settings.CheckedSettings"


class Signatures(griffe.Extension):  # type: ignore[misc]  # griffe is installed for the documentation alone
    """Write the parameters of functions and classes that the source doesn't write beside them."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Give a function the parameters of the one that its decorator names."""
        for decorator in func.decorators:
            if isinstance(decorator.value, griffe.ExprCall) and decorator.value.canonical_path.endswith(HANDED_ON):
                func.parameters = func.parent[str(decorator.value.arguments[0])].parameters

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Give a class of settings its fields as the parameters of its constructor."""
        if SETTINGS in [each.canonical_path for each in cls.mro()]:
            fields = [each for each in cls.all_members.values() if IN_INSTANCES in each.labels and each.annotation]
            parameters = [
                griffe.Parameter(each.name, annotation=each.annotation, kind=BY_NAME, default=default_of(each))
                for each in sorted(fields, key=lambda each: each.value is not None)
            ]
            this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
            says = cls.all_members["__init__"].docstring
            cls["__init__"] = griffe.Function(
                "__init__", parameters=griffe.Parameters(this, *parameters), docstring=says
            )


def default_of(field: Any) -> Any:
    """Return what a field is if it isn't set, as it is written."""
    value = field.value
    if not isinstance(value, griffe.ExprCall) or str(value.function) != "Field":
        return value
    given = {each.name: each.value for each in value.arguments if isinstance(each, griffe.ExprKeyword)}
    return given.get("default", f"{given.get('default_factory')}()")
