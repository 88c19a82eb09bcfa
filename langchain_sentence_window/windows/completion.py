"""The sentences that a window needs: those after a hit, and those around it so that it reads well.

- A heading isn't left alone: what stands under it belongs to it.
- A sentence that ends at a colon goes on to what it announces.
- An item of a list is whole.
- A short table or list is whole, and a longer one of which several rows or items were hit.
- A long sentence that was cut into pieces is whole.
- A sentence that refers back, as "It is…" and "In that case…" do, has what it refers to before it.

Everything stays inside the section. How far ``auto`` expands a hit, and which hits are strong, was tuned on questions.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeAlias

from langchain_sentence_window._primitives import COLONS, ENDS_OF_SENTENCES, SentenceKey, Span
from langchain_sentence_window._validation import not_a_function

from .geometry import Hit, Window, each_of, not_of

MIN_CHARS = 100
"""Characters of a window of ``auto`` that say enough. See the benchmarks page."""

MAX_FORWARD = 2
"""Sentences after a hit that ``auto`` adds at most; a third one changed nothing. See the benchmarks page."""

MIN_LEAD = 0.2
"""Lead of the best hit over the second, as a share of the range of scores, that makes it the answer. See the
benchmarks page."""

MIN_LEAD_ELSEWHERE = 0.25
"""The same over the best hit that its window neither holds nor touches. See the benchmarks page."""

MIN_CHARS_OF_ANSWER = 350
"""Characters of a window around the answer that say enough. See the benchmarks page."""

MAX_FORWARD_OF_ANSWER = 8
"""Sentences after the answer that ``auto`` adds at most. See the benchmarks page."""

MAX_STRONG_SHARE = 0.25
"""Share of the range of scores, from the best down, in which hits are strong. See the benchmarks page."""

SHORT_CHARS = 400
"""Characters of a table or a list that is whole in a window, for each of its rows or items that was hit."""

MAX_LABEL_CHARS = 90
"""A line from this length on says something itself."""


def expand_forward(hit: Hit, text: Callable[[int], str], *, is_answer: bool = False) -> Window:
    """Expand a hit forward until its window says enough, without leaving its section.

    Conditions and limits usually follow the sentence that they apply to. A sentence of `MIN_CHARS` characters says
    enough alone. A shorter one expands by up to `MAX_FORWARD` sentences. A label, such as a heading or "Fees", names
    what follows, so it always expands that far.

    Args:
        hit: The hit to expand.
        text: Returns the text of the sentence at an index of the hit's document.
        is_answer: Whether the hit is taken for the answer, see `clear_best`; then it expands farther.

    Raises:
        InvalidInputError: ``hit`` isn't a `Hit`, or ``text`` can't be called.
    """
    if not isinstance(hit, Hit):
        raise not_of(hit, Hit)
    if not callable(text) or isinstance(text, type):
        raise not_a_function("text", text)
    min_chars, max_forward = (MIN_CHARS_OF_ANSWER, MAX_FORWARD_OF_ANSWER) if is_answer else (MIN_CHARS, MAX_FORWARD)
    own = text(hit.index)
    last, length = hit.index, len(own)
    end = min(hit.section_end - 1, hit.index + max_forward)
    label_end = hit.index + MAX_FORWARD if is_label(own) else hit.index
    while last < end and (last < label_end or length < min_chars):
        last += 1
        length += 1 + len(text(last))
    return Window(hit.doc_id, hit.index, last, (hit,))


def clear_best(hits: Sequence[Hit]) -> Hit | None:
    """Return the best hit if it leads the others, as answers usually do.

    It leads if it is ahead of all others by more than `MIN_LEAD`, or of all hits elsewhere by more than
    `MIN_LEAD_ELSEWHERE`. A hit that its window as the answer might hold or touch isn't elsewhere: it says that the
    answer is at this place.

    Args:
        hits: Best first.

    Returns:
        The best hit; ``None`` if its lead is smaller, or there is no hit.

    Raises:
        InvalidInputError: One isn't a `Hit`.
    """
    hits = each_of(hits, Hit)
    if not hits:
        return None
    best, others = hits[0], hits[1:]
    beside = range(
        max(best.section_start, best.index - 1), min(best.section_end, best.index + MAX_FORWARD_OF_ANSWER + 2)
    )
    elsewhere = next((hit for hit in others if hit.doc_id != best.doc_id or hit.index not in beside), None)
    if elsewhere is None:
        return best
    span = best.score - hits[-1].score
    leads = best.score - others[0].score > MIN_LEAD * span
    return best if leads or best.score - elsewhere.score > MIN_LEAD_ELSEWHERE * span else None


def strong_score(hits: Collection[Hit]) -> float:
    """Return the lowest score of a strong hit: strong hits may widen each other's windows.

    Args:
        hits: In any order.

    Returns:
        The lower end of the best `MAX_STRONG_SHARE` of the range of scores, whatever their scale; 0 for no hits.

    Raises:
        InvalidInputError: One isn't a `Hit`.
    """
    scores = [hit.score for hit in each_of(hits, Hit)]
    return max(scores) - MAX_STRONG_SHARE * (max(scores) - min(scores)) if scores else 0.0


def is_label(text: str) -> bool:
    """Tell whether a sentence only names what follows, such as a heading or "Fees"."""
    return len(text) < MAX_LABEL_CHARS and not text.endswith(ENDS_OF_SENTENCES) and any(map(str.isalpha, text))


MAX_ADDED = 3
"""The most sentences that one rule adds on a side of a window."""

_MAX_ROUNDS = 3

MAX_COMPLETED = 2 * _MAX_ROUNDS * MAX_ADDED
"""The most sentences that are added on a side of a window, beside the rest of a short table or list: two rules may add
to each."""

_ENDS_OF_LINES = (*ENDS_OF_SENTENCES, "|")

_USUAL_ENDS = frozenset(".?!。？！")

refers_back = re.compile(
    r"(?:it|this|that|these|those|they|he|she|such|however|therefore|otherwise|instead|nevertheless|"
    r"in (?:that|this|such)(?: a)? case|if (?:so|not)|"
    r"dies(?:e|er|es|em|en)?|jedoch|andernfalls|ansonsten|in diesem fall|"
    r"cela|ceci|celui-ci|celle-ci|toutefois|cependant|sinon|dans ce cas|"
    r"esto|eso|ello|sin embargo|en (?:ese|este) caso|de lo contrario|"
    r"questo|questa|ciò|tuttavia|altrimenti|in (?:tal|questo) caso|"
    r"isso|isto|no entanto|nesse caso|neste caso|caso contrário)\b",
    re.IGNORECASE,
).match
"""Matches a sentence that begins with a word that refers to what stands before it."""

_begins_item = re.compile(r"\s*(?:[-*+•–]\s|\(?[0-9]{1,2}[.)]\s|\(?[a-z][.)]\s|\|)").match


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, as far as it matters for the windows around it.

    Attributes:
        text: Its text.
        is_heading: Whether it is a heading.
        in_list: Whether it belongs to an item of a list.
        in_table: Whether it is a row of a table.
        has_lead_in: Whether a lead-in is shown above a window that begins with it.
        pieces: Indexes ``[start, end)`` of all pieces of the sentence that this is a piece of; ``None`` if it is whole.
    """

    text: str
    is_heading: bool = False
    in_list: bool = False
    in_table: bool = False
    has_lead_in: bool = False
    pieces: Span | None = None


Lookup: TypeAlias = Callable[[SentenceKey], Line | None]
"""Returns a sentence by document and index; ``None`` for one that can't be read, which ends windows."""


def complete(
    window: Window, lookup: Lookup, *, opens_backward: bool = True, keeps_sentences_whole: bool = True
) -> Window:
    """Add what a window needs so that it reads well; see the module.

    Args:
        window: The window.
        lookup: Returns sentences of its document.
        opens_backward: Whether a sentence that refers back gets what stands before it.
        keeps_sentences_whole: Whether a piece of a long sentence gets the others, and a short table or list is whole.

    Returns:
        A window that holds the given one, in the same section. A rule adds `MAX_ADDED` sentences on a side at most,
        beside the rest of a short table or list, and is applied three times at most.
    """
    around = _Around(window, lookup)
    first, last = window.first, window.last
    if needs_nothing(around.line(first), around.line(last)):
        return window
    for _ in range(_MAX_ROUNDS):  # what one rule adds may need another
        before = first, last
        if keeps_sentences_whole:
            first, last = _whole_structures(around, *_whole_sentences(around, first, last))
        first, last = _whole_items(around, first, last)
        last = _past_what_announces(around, first, last)
        first = _before_what_refers(around, first, opens_backward=opens_backward)
        if (first, last) == before:
            break
    return window.widened(first, last)


def with_whole_sentences(window: Window, lookup: Lookup) -> Window:
    """Add the other pieces of the sentences at both ends of a window."""
    return window.widened(*_whole_sentences(_Around(window, lookup), window.first, window.last))


def needs_nothing(first: Line, last: Line) -> bool:
    """Return whether no rule adds anything to a window with these first and last sentences, as for most windows."""
    return not (
        first.pieces
        or last.pieces
        or first.in_list
        or last.in_list
        or first.in_table
        or last.in_table
        or refers_back(first.text)
        or _begins_item(first.text)
        # Of most sentences, the last character tells that they neither announce something nor are a label.
        or ((last.is_heading or last.text[-1:] not in _USUAL_ENDS) and (_announces(last) or _is_label(last)))
    )


def says_something(window: Window, lookup: Lookup) -> bool:
    """Return whether a window is more than headings and labels, and doesn't end at a colon.

    Short lines that make up a whole section without a heading are its content, such as a row of a table file.
    """
    around = _Around(window, lookup)
    lines = [around.line(index) for index in range(window.first, window.last + 1)]
    if _announces(lines[-1]):
        return False
    is_all = window.first <= around.start and window.last >= around.end - 1
    return not all(map(_is_label, lines)) or (is_all and not any(line.is_heading for line in lines))


def is_heading_alone(window: Window, lookup: Lookup) -> bool:
    """Return whether a window is nothing but headings."""
    around = _Around(window, lookup)
    return all(around.line(index).is_heading for index in range(window.first, window.last + 1))


def ending_well(window: Window, lookup: Lookup) -> Window:
    """Cut what ends a window after its best hit and only points to what isn't in it.

    That is a sentence that announces, with a colon, what isn't in the section any more; and a short line alone between
    others, such as a heading without marks, unless it was hit.
    """
    around, last, best = _Around(window, lookup), window.last, window.best.index
    while last > best and _announces(around.line(last)):
        last -= 1
    if last < window.last and around.line(window.last + 1) is not _NO_LINE:
        return window
    if last > best:
        line = around.line(last)
        # Its last character tells of most sentences that they are no label.
        is_short = line.text[-1:] not in _USUAL_ENDS and not line.in_list and _is_label(line)
        is_alone = is_short and not _is_label(around.line(last - 1)) and around.line(last + 1) is not _NO_LINE
        if is_alone and all(hit.index != last for hit in window.hits):
            last -= 1
    if last == window.last:
        return window
    return replace(window, last=last, hits=tuple(hit for hit in window.hits if hit.index <= last))


_NO_LINE = Line("")
"""Stands for a sentence outside of the section, or one that can't be read."""


class _Around:
    """The sentences of a section, by index."""

    def __init__(self, window: Window, lookup: Lookup) -> None:
        self._doc_id, self._lookup = window.doc_id, lookup
        self.hits = [hit.index for hit in window.hits]
        first, *others = window.hits
        self.start, self.end = first.section_start, first.section_end
        for hit in others:
            self.start, self.end = max(self.start, hit.section_start), min(self.end, hit.section_end)

    def line(self, index: int) -> Line:
        """Return a sentence; `_NO_LINE` outside the section, or if it can't be read."""
        return (self._lookup((self._doc_id, index)) if self.start <= index < self.end else None) or _NO_LINE


# Sentences are looked up only where a rule asks for them, as a look may take a call of the store.


def _whole_sentences(around: _Around, first: int, last: int) -> tuple[int, int]:
    """Add the other pieces of the sentences at both ends."""
    start, end = around.line(first).pieces, around.line(last).pieces
    if start is not None and all(around.line(index) is not _NO_LINE for index in range(start[0], first)):
        first = min(first, start[0])
    if end is not None and all(around.line(index) is not _NO_LINE for index in range(last + 1, end[1])):
        last = max(last, end[1] - 1)
    return first, last


def _whole_structures(around: _Around, first: int, last: int) -> tuple[int, int]:
    """Add the rest of a table or a list that is short for the number of its rows or items that were hit."""
    for is_part in (attrgetter("in_table"), attrgetter("in_list")):
        limit = SHORT_CHARS * sum(is_part(around.line(index)) for index in around.hits if first <= index <= last)
        if not limit:
            continue
        low, high = first, last
        size = sum(len(around.line(index).text) for index in range(first, last + 1))
        while size <= limit:
            if is_part(around.line(low)) and is_part(around.line(low - 1)):
                low = added = low - 1
            elif is_part(around.line(high)) and is_part(around.line(high + 1)):
                high = added = high + 1
            else:
                first, last = low, high
                break
            size += 1 + len(around.line(added).text)
    return first, last


def _whole_items(around: _Around, first: int, last: int) -> tuple[int, int]:
    """Add the rest of an item of which a part is in the window."""
    for _ in range(MAX_ADDED):
        line = around.line(first)
        if not line.in_list or _begins_item(line.text) or not around.line(first - 1).in_list:
            break
        first -= 1
    for _ in range(MAX_ADDED):
        if not around.line(last).in_list or not (after := around.line(last + 1)).in_list or _begins_item(after.text):
            break
        last += 1
    return first, last


def _past_what_announces(around: _Around, first: int, last: int) -> int:
    """Add what stands below a window of labels alone, then what its last sentence announces."""
    for _ in range(MAX_ADDED):
        if not all(_is_label(around.line(index)) for index in range(last, first - 1, -1)):
            break
        if around.line(last + 1) is _NO_LINE:
            break
        last += 1
    for _ in range(MAX_ADDED):
        if not _announces(around.line(last)) or around.line(last + 1) is _NO_LINE:
            break
        last += 1
    return last


def _before_what_refers(around: _Around, first: int, *, opens_backward: bool) -> int:
    """Add what the first sentence refers to; open an item without a lead-in to what is before the list, if near."""
    for _ in range(MAX_ADDED if opens_backward else 0):
        if not refers_back(around.line(first).text) or around.line(first - 1) is _NO_LINE:
            break
        first -= 1
    line = around.line(first)
    if line.has_lead_in or not _begins_item(line.text):
        return first
    for index in range(first - 1, first - 1 - MAX_ADDED, -1):
        before = around.line(index)
        if before is _NO_LINE:
            break
        if before.has_lead_in or not (before.in_list or _begins_item(before.text)):
            return index
    return first


def _announces(line: Line) -> bool:
    return line.text.rstrip().endswith(COLONS)


def _is_label(line: Line) -> bool:
    if line.is_heading:
        return True
    if line.text.rstrip().endswith(_ENDS_OF_LINES) or _begins_item(line.text):
        return False
    lines = [each for each in map(str.strip, line.text.splitlines()) if each]
    return all(len(each) < MAX_LABEL_CHARS and not each.endswith(_ENDS_OF_LINES) for each in lines)
