"""The lines that begin a message of a transcript: who speaks, and often when.

=====================================  ==================================
line                                   from
=====================================  ==================================
``[10:06] Anna: Hello``                chats, with or without seconds
``12/31/23, 10:06 PM - Anna: Hello``   WhatsApp, in its many date formats
``[31.12.23, 10:06:33] Anna: Hello``   WhatsApp
``Anna on 12/31/23, 10:06 PM: Hello``  LangChain's loaders of chats
``Anna  [10:06 AM]``                   Slack; the message begins below
``10:06 Anna: Hello``                  minutes of a meeting
``ANNA: Hello``                        interviews and plays
=====================================  ==================================

In Markdown the name may be bold. All patterns are limited in length, so they take linear time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langchain_sentence_window._types import Span

_BOLD = r"(?:\*\*|__)?"
_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d{1,3})?)?(?:[ \xa0\u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_STAMP = (
    rf"[\ufeff\u200e\u200f]?(?:\[(?:{_DATE},?[ T])?{_TIME}(?:,[ ]{_DATE})?\]"
    rf"|\((?:{_DATE},?[ ])?{_TIME}\)|{_DATE},?[ ]{_TIME})"
)
_AFTER_STAMP = r"[ \t]*(?:[-–—][ \t]*)?"
# Any name goes after a time, as people call themselves what they like.
_ANY_NAME = r"(?P<name>[^\s:<>\[\]|][^:\r\n<>\[\]|]{0,59}?)"
_NAME = r"(?P<name>[^\W\d_][\w.'’-]*(?:[ ][\w.'’-]+){0,4})(?:[ ]\([^()\r\n]{1,30}\))?"
_COLON = rf"{_BOLD}[ \xa0\u202f]?[:：]{_BOLD}(?=\s|\Z)"

STAMP = re.compile(rf"{_BOLD}{_STAMP}{_BOLD}(?=\s|\Z)")
"""The time at the beginning of a message, which may be of the chat itself, such as "Anna joined"."""

STAMPED = re.compile(
    rf"{_BOLD}{_STAMP}{_BOLD}{_AFTER_STAMP}{_BOLD}(?:<(?P<nick>[^<>\r\n]{{1,60}})>|{_ANY_NAME}{_COLON})"
)
LOADED = re.compile(rf"{_ANY_NAME}[ ]on[ ]{_DATE},?[ T]{_TIME}:(?=\s|\Z)")
TIMED = re.compile(rf"{_BOLD}{_TIME}{_BOLD}{_AFTER_STAMP}{_BOLD}{_ANY_NAME}{_COLON}")
BRACKETED = re.compile(rf"{_BOLD}{_ANY_NAME}{_BOLD}[ \t]+\[{_TIME}\][ \t]*(?=[\r\n]|\Z)")
CLOCKED = re.compile(rf"{_BOLD}{_ANY_NAME}{_BOLD}[ \t]+{_TIME}[ \t]*(?=[\r\n]|\Z)")
NAMED = re.compile(rf"{_BOLD}(?=.{{1,60}}[:：]){_NAME}{_COLON}")

FORMS: Sequence["re.Pattern[str]"] = (STAMPED, LOADED, BRACKETED, CLOCKED, TIMED, NAMED)
"""The forms of a message's first line, the surest first."""

_LINE = re.compile(r"\S[^\r\n]*")
# A match takes a whole line, so the next one begins in the next line. No speaker is longer than this.
_LINE_WITH_COLON = re.compile(r"(?P<found>[^\s:：][^\r\n:：]{0,99}[:：][^\r\n]*+)|\S[^\r\n]*+")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, at the beginning of a message.

    Attributes:
        start: First code point of the message in the text.
        end: Where the speaker ends and what is said begins, up to white space.
        name: The speaker's name.
    """

    start: int
    end: int
    name: str


def speaker_end(text: str, start: int = 0, end: int | None = None) -> int:
    """Return where the speaker at the beginning of a message ends; ``start`` if the message doesn't name one.

    Args:
        text: The text.
        start: Where the message begins.
        end: Where it ends; ``None`` for the end of the text.
    """
    stop = len(text) if end is None else end
    found = (form.match(text, start, stop) for form in FORMS)
    return next((match.end() for match in found if match), start)


def find_lines(text: str) -> list[Span]:
    """Return the lines of a text that may name a speaker, from their first character that isn't white space."""
    return [match.span() for match in _LINE_WITH_COLON.finditer(text) if match.lastgroup]


def find_speakers(text: str, lines: Iterable[Span], form: "re.Pattern[str]") -> Iterator[Speaker]:
    """Yield the speakers of the lines that have a form, in order."""
    for start, end in lines:
        if match := form.match(text, start, end):
            name = match["name"] or match["nick"] if form is STAMPED else match["name"]
            yield Speaker(start, match.end(), name.strip("*_ ").casefold())


def find_stamps(text: str) -> list[int]:
    """Return where the lines begin that begin with a time."""
    return [match.start() for match in _LINE.finditer(text) if STAMP.match(text, *match.span())]
