"""Transcripts: a text whose lines say who speaks, and often when, as messages.

A line such as "Note: closed today" looks like a message too. So a text is a transcript only if several lines have the
same form, and, where a line holds no time, if few names come again and again and speak in sentences. In doubt it
isn't one: forms, address lists and YAML aren't.

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
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from langchain_sentence_window._primitives import Span

from .blocks import HEADING, LIST_ITEM, MESSAGE, PROSE, Block, trim


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


MIN_STAMPED = 2
"""The fewest lines with a time in brackets, or with a date, that make a transcript."""

MIN_NAMED = 3
"""The fewest other lines that make a transcript."""

MAX_NAMES_SHARE = 2 / 3
"""The largest share of different names among the other lines."""

MIN_AGAIN_SHARE = 0.8
"""The smallest share of messages by those who speak again, where lines hold no time."""

MIN_BEGUN_SHARE = 1 / 2
"""The smallest share of paragraphs that begin a message, where lines hold no time."""

_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n|\r[ \t]*\r")
_PARAGRAPH = re.compile(r"(?:\n[ \t]*\r?\n|\r[ \t]*\r)\s*")
_CLOSERS = "\"'”’»)]*_ \t"
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "—", "–", "-")
_MAX_PARTICLE_CHARS = 3
_MAX_LOOK_CHARS = 200
_MARKS_OF_MARKDOWN = ("#", "=")


def cut_messages(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Turn the paragraphs of a transcript into messages, and leave all other texts as they are.

    A message ends where the next one begins, and at a heading. The last one ends at a blank line.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        Blocks in order that cover the same lines.
    """
    lines = [match.span() for match in _LINE_WITH_COLON.finditer(text) if match.lastgroup]
    if len(lines) < MIN_STAMPED:
        return list(blocks)
    paragraphs = [block for block in blocks if block.kind in (PROSE, LIST_ITEM) or _is_capitals(text, block)]
    firsts = [block.start for block in paragraphs]

    def may_begin(at: int) -> bool:
        number = bisect_right(firsts, at) - 1
        if number < 0 or at >= paragraphs[number].end:
            return False
        # A message in a list belongs to its item, unless it only follows the last item.
        return paragraphs[number].kind != LIST_ITEM or text[at - 1 : at] in ("\r", "\n")

    starts = _message_starts(text, [line for line in lines if may_begin(line[0])])
    return _cut_at_messages(text, blocks, list(filter(may_begin, starts))) if starts else list(blocks)


def _is_capitals(text: str, block: Block) -> bool:
    """Return whether a block is a heading without a mark, as a message in capitals may look like one."""
    is_marked = text[block.start] in _MARKS_OF_MARKDOWN
    return block.kind == HEADING and not is_marked and "\n" not in text[block.start : block.end]


def _message_starts(text: str, lines: Sequence[Span]) -> list[int]:
    """Return where messages begin, by the surest form that enough lines have; nothing if the text is no transcript."""
    if _CLOCK.search(text):
        speakers = find_speakers(text, lines, LOADED)
        if len(speakers) >= MIN_STAMPED:
            return _starts(speakers)
        if len(find_speakers(text, lines, STAMPED)) >= MIN_STAMPED:
            # A line of the chat itself, such as "Anna joined", ends a message too.
            return [match.start() for match in _LINE.finditer(text) if STAMP.match(text, *match.span())]
        speakers = _with_text_below(text, find_speakers(text, lines, BRACKETED))
        if len(speakers) >= MIN_STAMPED:
            return _starts(speakers)
        clocked = _with_text_below(text, find_speakers(text, lines, CLOCKED))
        for speakers in (clocked, find_speakers(text, lines, TIMED)):
            if _has_few_names(speakers):
                return _starts(speakers)
    speakers = [each for each in find_speakers(text, lines, NAMED) if _is_speaker_name(text[each.start : each.end])]
    is_talk = _has_few_names(speakers) and _take_turns(speakers) and _are_dense(text, speakers)
    return _starts(speakers) if is_talk and _speak_in_sentences(text, speakers) else []


def _starts(speakers: Sequence[Speaker]) -> list[int]:
    return [speaker.start for speaker in speakers]


def _is_speaker_name(written: str) -> bool:
    """Return whether all words of a name but short ones, as in "Ana de la Cruz", begin with a capital."""
    words = written.partition("(")[0].strip("#*_:： \xa0\u202f").split()
    return not any(word[0].islower() and (len(word) > _MAX_PARTICLE_CHARS or word is words[0]) for word in words)


def _with_text_below(text: str, speakers: Sequence[Speaker]) -> list[Speaker]:
    """Return the speakers whose next line isn't blank."""
    return [each for each in speakers if _message_body(text, each.end, each.end + _MAX_LOOK_CHARS)]


def _message_body(text: str, start: int, end: int) -> str:
    """Return the text between two positions, up to a blank line."""
    piece = text[start:end]
    blank = _BLANK_LINE.search(piece)
    return (piece[: blank.start()] if blank else piece).strip()


def _has_few_names(speakers: Sequence[Speaker]) -> bool:
    names = {speaker.name for speaker in speakers}
    return len(speakers) >= MIN_NAMED and 1 < len(names) <= MAX_NAMES_SHARE * len(speakers)


def _take_turns(speakers: Sequence[Speaker]) -> bool:
    """Return whether two names or more come again, say nearly all, and don't follow each other as fields of records do.

    Three or more fields of records are always in one order.
    """
    names = [speaker.name for speaker in speakers]
    counts = Counter(names)
    again = [name for name in counts if counts[name] > 1]
    period = len(counts)
    are_fields = period > 2 and all(one == other for one, other in zip(names, names[period:], strict=False))  # noqa: PLR2004
    changes = sum(one != other for one, other in pairwise(names))
    said_again = sum(counts[name] for name in again)
    takes_turns = len(again) > 1 and said_again >= MIN_AGAIN_SHARE * len(names) and 2 * changes >= len(names)
    return (takes_turns or _is_short_exchange(speakers)) and not are_fields


def _is_short_exchange(speakers: Sequence[Speaker]) -> bool:
    """Return whether someone speaks, is answered once, and speaks again."""
    names = [speaker.name for speaker in speakers]
    return len(names) == MIN_NAMED and names[0] == names[2] != names[1]


def _are_dense(text: str, speakers: Sequence[Speaker]) -> bool:
    """Return whether enough of the paragraphs between the first message and the last begin a message."""
    starts = set(_starts(speakers))
    first, last = speakers[0].start, speakers[-1].start
    paragraphs = [first, *(match.end() for match in _PARAGRAPH.finditer(text, first, last + 1))]
    begun = sum(1 for at in paragraphs if at in starts)
    return begun >= (1 if _is_short_exchange(speakers) else MIN_BEGUN_SHARE) * len(paragraphs)


def _speak_in_sentences(text: str, speakers: Sequence[Speaker]) -> bool:
    ends = [*_starts(speakers[1:]), len(text)]
    bodies = [_message_body(text, speaker.end, end) for speaker, end in zip(speakers, ends, strict=True)]
    spoken = sum(1 for body in bodies if body.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS))
    return 2 * spoken > len(bodies)


def _cut_at_messages(text: str, blocks: Sequence[Block], starts: Sequence[int]) -> list[Block]:
    """Cut blocks where messages begin, and join those of one message."""
    blank = _BLANK_LINE.search(text, starts[-1])
    final = blank.start() if blank else len(text)
    beginnings = frozenset(starts)
    made: list[Block] = []
    is_inside = False  # whether a message may continue
    for block in blocks:
        inside = starts[bisect_left(starts, block.start) : bisect_left(starts, block.end)]
        is_item = block.kind == LIST_ITEM
        if block.kind != PROSE and not (inside and (is_item or _is_capitals(text, block))):
            is_inside = is_inside and block.kind != HEADING
            made.append(block)
            continue
        for left, right in pairwise(sorted({block.start, *inside, block.end})):
            start, end = trim(text, left, right)
            begins = left in beginnings
            is_inside = begins or (is_inside and start < final)
            if not is_inside or (is_item and not begins):
                made.append(replace(block, start=start, end=end))
            elif not begins and made and made[-1].kind == MESSAGE:
                made[-1] = replace(made[-1], end=end)
            else:
                made.append(Block(start, end, MESSAGE))
    return made


_BOLD = r"(?:\*\*|__)?"
_CLOCK = re.compile(r"\d[:.]\d{2}")  # in all forms but that of a name alone
_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d{1,3})?)?(?:[ \xa0\u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_STAMP = (
    rf"[\ufeff\u200e\u200f]?(?:\[(?:{_DATE},?[ T])?{_TIME}(?:,[ ]{_DATE})?\]"
    rf"|\((?:{_DATE},?[ ])?{_TIME}\)|{_DATE},?[ ]{_TIME})"
)
_AFTER_STAMP = r"[ \t]*(?:[-–—][ \t]*)?"
# Any name goes after a time, as people call themselves what they like.
_ANY_NAME = r"(?P<name>[^\s:<>\[\]|][^:\r\n<>\[\]|]{0,59}?)"
_WRITTEN = r"[^\W\d_][\w.'’-]*(?:[ ][\w.'’-]+){0,4}"
# A script writes "#NOTE#" or "#ALL#" in place of a name.
_NAME = rf"(?P<name>\#{_WRITTEN}\#|{_WRITTEN})(?:[ ]\([^()\r\n]{{1,30}}\))?"
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


def speaker_of(message: str) -> str:
    """Return the name at the beginning of a message as it is written; empty if it doesn't name its speaker."""
    match = _match_form(message, 0, len(message))
    return match[str(match.lastgroup)].strip("#*_ ") if match else ""


def speaker_end(text: str, start: int = 0, end: int | None = None) -> int:
    """Return where the speaker at the beginning of a message ends; ``start`` if the message doesn't name one.

    Args:
        text: The text.
        start: Where the message begins.
        end: Where it ends; ``None`` for the end of the text.
    """
    match = _match_form(text, start, len(text) if end is None else end)
    return match.end() if match else start


def _match_form(text: str, start: int, end: int) -> "re.Match[str] | None":
    return next((match for form in FORMS if (match := form.match(text, start, end))), None)


def find_speakers(text: str, lines: Iterable[Span], form: "re.Pattern[str]") -> list[Speaker]:
    """Return the speakers of the lines that have a form, in order."""
    found: list[Speaker] = []
    for start, end in lines:
        if match := form.match(text, start, end):
            name = match[str(match.lastgroup)]
            found.append(Speaker(start, match.end(), name.strip("*_ ").casefold()))
    return found
