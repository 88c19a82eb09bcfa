"""A base class that checks settings whenever they are set, and suggests a name for an unknown one."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar, Self

import pydantic

from ._display import described, shown
from .errors import InvalidInputError

Check = Callable[[str, Any], Any]
"""Takes a setting's name and value, and returns a valid value or raises `InvalidInputError`."""

NAMES_OF_COUNT = (
    "top_k topk topK n n_results num_results max_results limit size similarity_top_k final_k number_of_results "
    "num_windows count"
)
"""Names of other libraries for the number of results."""

NAMES_OF_LOWEST_SCORE = (
    "score_threshold similarity_threshold similarity_cutoff threshold min_similarity cutoff minimum_score "
    "relevance_threshold"
)
"""Names of other libraries for the lowest score of a result."""

NAMES_OF_SPLITTER = "text_splitter sentence_splitter node_parser transformer chunker"
"""Names of other libraries for the splitter."""


class CheckedSettings(pydantic.BaseModel):
    """A pydantic model that checks its settings in the constructor, on assignment and in copies."""

    checks: ClassVar[Mapping[str, Check]] = {}
    """Checks by setting, for what pydantic's types alone can't check."""
    related: ClassVar[Mapping[str, str]] = {}
    """Names that other libraries use for the settings."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Names that aren't settings, and what to write instead."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Set the fields from keywords and check them.

        Raises:
            InvalidInputError: A field doesn't exist, is of a wrong type or out of its range.
        """
        if given:
            first = next(name for name, field in type(self).model_fields.items() if field.is_required())
            raise InvalidInputError(
                f"{type(self).__name__} takes its settings by name, and was given {shown(given[0])}; write "
                f"{type(self).__name__}({first}=...)"
            )
        checked = _check_settings(self.checks, settings)
        try:
            super().__init__(**checked)
        except pydantic.ValidationError as error:
            # Not "from" pydantic's error, which shows the values, and these may be secret.
            raise _in_our_words(type(self), error) from None

    @classmethod
    def checked_values(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of some settings as the constructor would keep them, without making an object.

        Raises:
            InvalidInputError: One is of a wrong type or out of its range.
        """
        if not settings:
            return {}
        checked = _check_settings(cls.checks, settings)
        try:
            found = _fields_alone(cls)(**checked)
        except pydantic.ValidationError as error:
            raise _in_our_words(cls, error, "can't use these settings") from None
        return {name: getattr(found, name) for name in settings}

    def __setattr__(self, name: str, value: Any) -> None:
        """Set and check a field; if the value is refused, the field stays as it was."""
        if not name.startswith("_"):
            value = getattr(self._with_settings({name: value}), name)
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, which are checked as in the constructor."""
        if update:
            changed = self._with_settings(update)
            update = {name: getattr(changed, name) for name in update}
        return super().model_copy(update=update, deep=deep)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the settings that aren't the default, for ``repr``."""
        for name, field in type(self).model_fields.items():
            # The constructor may have raised before it set them.
            if name in self.__dict__:
                text = described(self.__dict__[name])
                if field.is_required() or text != described(field.get_default(call_default_factory=True)):
                    yield name, _Written(text)

    def _with_settings(self, settings: Mapping[str, Any]) -> Self:
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | dict(settings))


class _Written(str):
    """A text whose ``repr`` is the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def likely_name(name: str, known: Mapping[str, Any] | frozenset[str], related: Mapping[str, str]) -> str | None:
    """Return the known name that an unknown one probably means; ``None`` if there is no similar one."""
    meant = related.get(name, related.get(name.lower()))
    if meant in known:
        return meant
    return next(iter(get_close_matches(name.lower()[:40], list(known), 1)), None)


@cache
def _fields_alone(kind: type[CheckedSettings]) -> type[pydantic.BaseModel]:
    """Return a model of the fields of a class, each of which may be left out, without its checks."""
    fields: dict[str, Any] = {name: (field.annotation, None) for name, field in kind.model_fields.items()}
    config = pydantic.ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    made: type[pydantic.BaseModel] = pydantic.create_model(kind.__name__, __config__=config, **fields)
    return made


def _check_settings(checks: Mapping[str, Check], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as their checks return them; a single error names all invalid ones."""
    checked = dict(settings)
    problems: list[str] = []
    for name in checks.keys() & settings.keys():
        try:
            checked[name] = checks[name](name, settings[name])
        except InvalidInputError as error:
            problems.append(str(error))
    if problems:
        raise InvalidInputError("; ".join(sorted(problems)))
    return checked


def _in_our_words(
    made: type[CheckedSettings], error: pydantic.ValidationError, fault: str = "can't be made"
) -> InvalidInputError:
    """Return pydantic's errors about a class's settings as one error."""
    problems: dict[str, str] = {}
    for problem in error.errors(include_url=False):
        setting = str(problem["loc"][0]) if problem["loc"] else made.__name__
        problems.setdefault(setting, f"{shown(setting)[1:-1]}: {_problem(made, setting, problem)}")
    return InvalidInputError(f"{made.__name__} {fault}: {'; '.join(problems.values())}")


def _problem(made: type[CheckedSettings], setting: str, problem: Any) -> str:
    if problem["type"] == "missing":
        return str(problem["msg"])
    if problem["type"] == "is_instance_of":
        kind, given = problem["ctx"]["class"], problem["input"]
        cure = f"; write {kind}({shown(given)})" if isinstance(given, str) else f"; pass an instance: {kind}(...)"
        return f"{problem['msg']}, not {shown(given)}{cure if isinstance(given, str | type) else ''}"
    if problem["type"] != "extra_forbidden":
        return f"{problem['msg']}, not {shown(problem['input'])}"
    if setting in made.elsewhere:
        return f"there is no such setting; {made.elsewhere[setting]}"
    likely = likely_name(setting, made.model_fields, made.related)
    return "there is no such setting; " + (
        f"did you mean {likely!r}? All are {', '.join(made.model_fields)}"
        if likely
        else f"there are {', '.join(made.model_fields)}"
    )
