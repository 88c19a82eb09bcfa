"""Front matter: YAML between two rules at the beginning of a text, which is metadata.

Its keys and values are untrusted. So YAML is read by its safe loader, with neither anchors nor
tags of Python, and what can't be read as a mapping stays text.
"""

import datetime
import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from langchain_sentence_window._primitives import MAX_INDEX, STORABLE_ID

MAX_FRONT_MATTER_CHARS = 10_000
"""Characters of the longest front matter that is read. Each sentence of the document carries its values."""

_TITLE = "title"
_MAX_DEPTH = 10
# A line of YAML: "key: value", what can follow it, or nothing.
_LINE_OF_YAML = r"(?:[\w.-]++[ \t]*+:|[ \t]++\S|-[ \t]|#|[ \t]*+(?=[\r\n])|[\"'][^\"'\r\n]*+[\"'][ \t]*+:)[^\r\n]*+"
_BREAK = r"(?:\r\n|\r|\n)"
_BETWEEN_RULES = re.compile(
    rf"(?:\ufeff)?---[ \t]*+{_BREAK}(?P<yaml>(?:{_LINE_OF_YAML}{_BREAK})*+)---(?=[ \t]*+(?:[\r\n]|\Z))"
)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a text.

    Attributes:
        end: One past its last code point, in the text; it begins at the text's first.
        values: Its strings, numbers, booleans, lists and mappings by key; dates as strings of ISO 8601.
    """

    end: int
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The title of the document, on one line; may be empty."""
        title = self.values.get(_TITLE, "")
        return "" if isinstance(title, bool) else " ".join(str(title).split())


def read_front_matter(text: str) -> FrontMatter | None:
    """Read the front matter of a text.

    Args:
        text: Any string.

    Returns:
        ``None`` if the text has none, or it is longer than `MAX_FRONT_MATTER_CHARS`, or isn't a mapping in YAML without
        anchors.
    """
    match = _BETWEEN_RULES.match(text)
    if match is None or match.end() > MAX_FRONT_MATTER_CHARS:
        return None
    values = _values(match["yaml"])
    return None if values is None else FrontMatter(match.end(), values)


def unread_end(text: str) -> int:
    """Return where lines of YAML between two rules end that a text begins with, without a blank line; 0 for none."""
    match = _BETWEEN_RULES.match(text)
    lines = match["yaml"].splitlines() if match else []
    return match.end() if match and lines and all(map(str.strip, lines)) else 0


@functools.lru_cache(maxsize=64)  # a file is asked for its title when it is loaded, and again when it is split
def _values(written: str) -> Mapping[str, Any] | None:
    try:
        read = _load_yaml(written)
    except Exception:  # noqa: BLE001 - untrusted YAML: errors of the parser, impossible dates, nesting too deep
        return None
    if not isinstance(read, dict) or not read:
        return None
    return MappingProxyType(_yaml_value(read))


def _load_yaml(written: str) -> object:
    import yaml

    depth = 0
    for token in yaml.scan(written, Loader=yaml.SafeLoader):
        depth += isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken)
        depth -= isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken)
        # A few aliases can expand to billions of values, and the work grows with the depth.
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken) or depth > _MAX_DEPTH:
            return None
    return yaml.safe_load(written)


def _yaml_value(value: object) -> Any:
    """Return a value of YAML as JSON holds it; ``None`` for what can't be stored."""
    if isinstance(value, list):
        return [plain for each in value if (plain := _yaml_value(each)) is not None]
    if isinstance(value, dict):
        named = {key: each for key, each in value.items() if isinstance(key, str) and STORABLE_ID.fullmatch(key)}
        return {key: plain for key, each in named.items() if (plain := _yaml_value(each)) is not None}
    if isinstance(value, datetime.date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, str):
        return value.strip() if STORABLE_ID.fullmatch(value.strip()) else None
    if isinstance(value, int):
        return value if -MAX_INDEX < value < MAX_INDEX else None
    return value if isinstance(value, float) and math.isfinite(value) else None
