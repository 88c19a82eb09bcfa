"""Equations of Word in the linear form in which Word lets one type them: ``x=(-b±√(b^2-4ac))/2a``."""

from collections.abc import Callable
from typing import Any

from .package import local_name

_SCRIPTS = frozenset({"sSup", "sSub", "sSubSup"})


def linear_form(element: Any) -> str:
    """Return the text of an equation or of one of its parts."""
    name = local_name(element)
    if name in ("t", "br", "tab"):
        return (element.text or "") if name == "t" else " "
    if name.endswith("Pr"):
        return ""
    write = _FORMS.get(name)
    if write:
        return write(element)
    written, has_script = "", False
    for child in element.iterchildren("*"):
        text = linear_form(child)
        written += (" " if has_script and text[:1].isalnum() else "") + text
        has_script = local_name(child) in _SCRIPTS if text else has_script
    return written


def _parts(element: Any, name: str) -> list[str]:
    return [linear_form(each).strip() for each in element.iterchildren("*") if local_name(each) == name]


def _part(element: Any, name: str) -> str:
    return "".join(_parts(element, name))


def _option(element: Any, name: str, default: str) -> str:
    """Return an option of an element, such as the sign of a sum, or its default."""
    found = [
        each
        for each in element.iterfind("*/*")
        if local_name(each) == name and local_name(each.getparent()).endswith("Pr")
    ]
    values = [value for each in found[:1] for key, value in each.attrib.items() if key.endswith("}val")]
    return values[0] if values else default


def _grouped(text: str) -> str:
    """Enclose a text in parentheses unless it is one number, word or parenthesis."""
    if not text[1:] or text.isalpha() or text.replace(".", "").isdecimal():
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if not depth:
            return text if place == len(text) - 1 else f"({text})"
    return f"({text})"


def _scripts(element: Any, *, below: str = "sub", above: str = "sup") -> str:
    lower, upper = _part(element, below), _part(element, above)
    raised = upper if upper and set(upper) <= set("′″‴'") else f"^{_grouped(upper)}"
    return (f"_{_grouped(lower)}" if lower else "") + (raised if upper else "")


def _fraction(element: Any) -> str:
    bar = "¦" if _option(element, "type", "bar") == "noBar" else "/"
    return f"{_grouped(_part(element, 'num'))}{bar}{_grouped(_part(element, 'den'))}"


def _root(element: Any) -> str:
    degree, inside = _part(element, "deg"), _part(element, "e")
    return f"√({degree}&{inside})" if degree else f"√({inside})"


def _function(element: Any) -> str:
    name, inside = _part(element, "fName"), _part(element, "e")
    return f"{name}{inside}" if name.isalpha() and inside.startswith("(") else f"{name} {inside}"


def _enclosed(element: Any) -> str:
    inside = _option(element, "sepChr", "|").join(_parts(element, "e"))
    return f"{_option(element, 'begChr', '(')}{inside}{_option(element, 'endChr', ')')}"


def _matrix(element: Any) -> str:
    rows = [each for each in element.iterchildren("*") if local_name(each) == "mr"]
    return "[" + "; ".join(", ".join(_parts(row, "e")) for row in rows) + "]"


def _barred(element: Any) -> str:
    return _grouped(_part(element, "e")) + ("\u0305" if _option(element, "pos", "bot") == "top" else "\u0332")


_FORMS: dict[str, Callable[[Any], str]] = {
    "f": _fraction,
    **dict.fromkeys(_SCRIPTS, lambda element: _grouped(_part(element, "e")) + _scripts(element)),
    "sPre": lambda element: f"{_scripts(element)} {_part(element, 'e')}",
    "limLow": lambda element: _part(element, "e") + _scripts(element, below="lim"),
    "limUpp": lambda element: _part(element, "e") + _scripts(element, above="lim"),
    "nary": lambda element: f"{_option(element, 'chr', '∫')}{_scripts(element)} {_part(element, 'e')}",
    "rad": _root,
    "func": _function,
    "d": _enclosed,
    "m": _matrix,
    "eqArr": lambda element: "; ".join(_parts(element, "e")),
    "acc": lambda element: _grouped(_part(element, "e")) + _option(element, "chr", "\u0302"),
    "bar": _barred,
}
