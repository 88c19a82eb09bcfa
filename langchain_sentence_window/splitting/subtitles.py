"""Subtitles: SubRip (SRT) and WebVTT as cues, each a stretch of text that is shown from one time to another.

A text is subtitles if it begins as such a file does. So an article that shows a few cues isn't. Numbers and names of
cues, time codes, comments, styles and tags aren't text of a cue. They are left out of its stretches, which are verbatim
slices. A voice (``<v Anna>``) is the speaker of what follows.

Captions that were made live show each line twice, as the last line of a cue and the first of the next. Such a line
counts once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from langchain_sentence_window._primitives import Span

from .blocks import trim
from .transcripts import NAMED

MIN_REPEATED = 3
"""The fewest cues of live captions that begin with the last line of the cue before, and continue."""

MIN_SHARE_REPEATED = 1 / 3
"""The smallest share of cues that begin so."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue of subtitles.

    Attributes:
        start: First code point of what is shown, in the text.
        end: One past the last code point.
        begins: When it is shown first, in seconds.
        ends: When it is shown last.
        speaker: Who speaks; empty if it doesn't say.
    """

    start: int
    end: int
    begins: float
    ends: float
    speaker: str = ""


_MAX_HEAD_CHARS = 20_000  # in which the first cue begins; styles may come before it
_BREAK = r"(?:\r\n|\r|\n)"
_CLOCK = r"(?:\d{1,4}:)?\d{1,2}:\d{2}(?:[.,:]\d{1,3})?"
_TIMES = rf"[ \t]*(?P<begins>{_CLOCK})[ \t]*-->[ \t]*(?P<ends>{_CLOCK})(?:[ \t][^\r\n]*+)?(?=[\r\n]|\Z)"
_TIMES_LINE = re.compile(rf"(?<![^\r\n]){_TIMES}")
# The number of a cue is the line above its times. With a blank line between them, it follows another blank line; any
# other line is text.
_BELOW_BLANK = r"(?:(?<=\n\n)|(?<=\n\r\n)|(?<=\r\r)|(?<=\n[ \t]\n)|\A)"
_NUMBER = rf"(?<![^\r\n])\d+[ \t]*+{_BREAK}|{_BELOW_BLANK}\ufeff?\d+\s*+(?<=[\r\n])"
_CUE = re.compile(rf"(?:{_NUMBER})?(?<![^\r\n]){_TIMES}")
_NAMED_CUE = re.compile(rf"(?:{_NUMBER}|{_BELOW_BLANK}[^\r\n]++{_BREAK})?(?<![^\r\n]){_TIMES}")
_CLOCK_PARTS = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})(?:[.,:](\d{1,3}))?")
_SUBRIP = re.compile(rf"\ufeff?\s*+(?:\d{{1,6}}[ \t]*+{_BREAK}\s*+)?{_TIMES}")
_WEBVTT = re.compile(rf"\ufeff?WEBVTT(?:[ \t][^\r\n]*+(?<![.:!?]))?{_BREAK}(?:(?![^\r\n]*-->)[^\r\n]++{_BREAK})*+")
_COMMENTS = re.compile(r"(?:NOTE|STYLE|REGION)(?!\S)")
_COMMENTS_BELOW = re.compile(rf"(?:(?<=\n\n)|(?<=\n\r\n)|(?<=\r\r)){_COMMENTS.pattern}")
_BLANK = re.compile(rf"{_BREAK}[ \t]*{_BREAK}")
_TAG = re.compile(
    r"</?(?:b|i|u|s|c|v|font|lang|ruby|rt|em|strong)(?:[.\s=][^<>\r\n]{0,200})?/?>|<[\d:.]{4,14}>|\{\\[^{}\r\n]{1,80}\}",
    re.IGNORECASE,
)
_VOICE = re.compile(r"<v(?:\.[^\s<>]{1,100})?[ \t]+(?P<name>[^<>\r\n]{1,100})>")
_LINE = re.compile(r"[^\r\n]+")
_DIALOG = re.compile(r"[-–—‐]\s?[^\W_]")
_WITHOUT_SPACES = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60]")


def find_cues(text: str) -> list[Cue]:
    """Return the cues of subtitles that hold text, in the order of the text; none of any other text."""
    if "-->" not in text[:_MAX_HEAD_CHARS]:
        return []
    head = _WEBVTT.match(text)
    if head is None and not _SUBRIP.match(text):
        return []
    heads = list((_NAMED_CUE if head else _CUE).finditer(text))
    begins = [each.start() for each in heads]
    if head is not None:
        before = _BLANK.split(text[head.end() : begins[0]]) if heads else ["no cue"]
        if any(each.strip() and not _COMMENTS.match(each.strip()) for each in before):
            return []
    found: list[Cue] = []
    for each, end in zip(heads, [*begins[1:], len(text)], strict=True):
        low, high = trim(text, each.end(), end)
        if head is not None and (comments := _COMMENTS_BELOW.search(text, low, high)):
            low, high = trim(text, low, comments.start())
        found += _cues(text, low, high, _seconds(each["begins"]), _seconds(each["ends"]))
    return _once(text, found)


def ends_with_times(text: str) -> bool:
    """Return whether the last line of a text is the time codes of a cue."""
    line = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
    return "-->" in line and _TIMES_LINE.fullmatch(line) is not None


def stretches(cue: str) -> list[Span]:
    """Return the lines of a cue, each cut at tags; trimmed, none empty."""
    texts = _TAG.sub(lambda tag: "\n" * len(tag[0]), cue)
    spans = (trim(cue, *match.span()) for match in _LINE.finditer(texts))
    return [(start, end) for start, end in spans if start < end]


def between_stretches(cue: str, end: int, start: int, before: str, after: str) -> str:
    """Return the white space between two stretches of a cue: none within a word that a tag cuts.

    Args:
        cue: The cue.
        end: Where the first stretch ends.
        start: Where the second one starts.
        before: The first, and what comes before it.
        after: The second.
    """
    is_cut = not _TAG.sub("", cue[end:start])
    return "" if is_cut else between_lines(before, after, is_cue=False)


def between_lines(before: str, after: str, *, is_cue: bool) -> str:
    """Return the white space between two lines: a space where a sentence may continue, else a newline.

    Args:
        before: The text before.
        after: The next line.
        is_cue: Whether it begins a cue.
    """
    if _DIALOG.match(after) or (is_cue and after[:1].isupper() and NAMED.match(after)):
        return "\n"
    return "" if _WITHOUT_SPACES.match(before[-1:]) and _WITHOUT_SPACES.match(after) else " "


def _cues(text: str, start: int, end: int, begins: float, ends: float) -> Iterator[Cue]:
    """Yield a cue for each voice that speaks, if it has text."""
    voices = list(_VOICE.finditer(text, start, end))
    edges = [start, *(voice.start() for voice in voices), end]
    names = ["", *(" ".join(voice["name"].split()) for voice in voices)]
    for (low, high), name in zip(pairwise(edges), names, strict=True):
        if stretches(text[low:high]):
            yield Cue(low, high, begins, ends, name)


def _once(text: str, cues: Sequence[Cue]) -> list[Cue]:
    """Leave out the first lines of live captions that are the last line of the cue before."""
    lines = [_cue_lines(text, cue) for cue in cues]
    is_again = [bool(before and own) and before[-1][0] == own[0][0] for before, own in pairwise(lines)]
    goes_on = sum(again and len(own) > 1 for again, own in zip(is_again, lines[1:], strict=True))
    if goes_on < MIN_REPEATED or sum(is_again) < MIN_SHARE_REPEATED * len(cues):
        return list(cues)
    kept = list(cues[:1])
    for cue, own, again in zip(cues[1:], lines[1:], is_again, strict=True):
        if not again:
            kept.append(cue)
        elif len(own) > 1:
            kept.append(replace(cue, start=own[1][1]))
        else:
            kept[-1] = replace(kept[-1], ends=cue.ends)
    return kept


def _cue_lines(text: str, cue: Cue) -> list[tuple[str, int]]:
    """Return the lines of a cue that hold text: without tags, and where each begins in the text."""
    found = ((line, _TAG.sub("", line[0])) for line in _LINE.finditer(text, cue.start, cue.end))
    return [(" ".join(shown.split()), line.start()) for line, shown in found if shown.strip()]


def _seconds(clock: str) -> float:
    match = _CLOCK_PARTS.fullmatch(clock)
    hours, minutes, seconds, rest = match.groups("0") if match else ("0",) * 4
    return round(3_600 * int(hours) + 60 * int(minutes) + int(seconds) + float(f"0.{rest}"), 3)
