"""The sentences that a window needs: those after a hit, and those around it so that it reads well.

- A heading isn't left alone: the text under it belongs to it.
- A sentence that ends at a colon goes on to what it announces.
- An item of a list is whole.
- A short table or list is whole, and a longer one of which several rows or items were hit.
- A long sentence that was cut into pieces is whole.
- A sentence that refers back, as "It is…" and "In that case…" do, has what it refers to before it.
- A turn of talk is whole if it isn't long, and a short one has the question that it answers before it.
- A question in a line of its own, or at the end of a turn, goes on to its answer.
- What a question asks for may take more: a whole exchange of talk, or all steps of a procedure, see `Growth`.

Everything stays inside the section. How far ``auto`` expands a hit, and which hits are strong, was tuned on questions.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from langchain_sentence_window._primitives import COLONS, ENDS_OF_SENTENCES, SentenceKey, Span

from .geometry import Hit, Window

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

MAX_TURN_CHARS = 1_200
"""Characters of a turn of talk that is whole in a window. A longer one is left as it is."""

MAX_ASKED_CHARS = 200
"""Characters of a question that is added to a short turn that answers it."""

MAX_SHORT_LINES = 16
"""Sentences of a short section: as many as are read on each side of a hit."""

MIN_ANSWER_CHARS = 100
"""Characters of what follows a question in a line of its own."""

MAX_ANSWER_CHARS = 300
"""Characters from which on no more is added, though what follows ends with a question, too."""


def expand_forward(hit: Hit, text: Callable[[int], str], *, is_answer: bool = False) -> Window:
    """Expand a hit forward until its window says enough, without leaving its section.

    Conditions and limits usually follow the sentence that they apply to. A sentence of `MIN_CHARS` characters says
    enough alone. A shorter one expands by up to `MAX_FORWARD` sentences. A label, such as a heading or "Fees", names
    what follows, so it always expands that far.

    Args:
        hit: The hit to expand.
        text: Returns the text of the sentence at an index of the hit's document.
        is_answer: Whether the hit is taken for the answer, see `clear_best`; then it expands farther.
    """
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
    """
    if not hits:
        return None
    best, others = hits[0], hits[1:]
    nearby = range(
        max(best.section_start, best.index - 1), min(best.section_end, best.index + MAX_FORWARD_OF_ANSWER + 2)
    )
    elsewhere = next((hit for hit in others if hit.doc_id != best.doc_id or hit.index not in nearby), None)
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
        The lower end of the best `MAX_STRONG_SHARE` of the range of scores; 0 for no hits.
    """
    scores = [hit.score for hit in hits]
    return max(scores) - MAX_STRONG_SHARE * (max(scores) - min(scores)) if scores else 0.0


def is_label(text: str) -> bool:
    """Return whether a sentence only names what follows, such as a heading or "Fees"."""
    is_short = len(text) < MAX_LABEL_CHARS and not text.endswith(ENDS_OF_SENTENCES)
    return is_short and (text[:1].isalpha() or any(map(str.isalpha, text)))


MAX_ADDED = 3
"""The most sentences that one rule adds on a side of a window."""

_MAX_ROUNDS = 3

MAX_COMPLETED = 2 * _MAX_ROUNDS * MAX_ADDED
"""The most sentences that are added on a side of a window, besides the rest of a short table or list: two rules may add
to each."""

_ENDS_OF_LINES = (*ENDS_OF_SENTENCES, "|")

_USUAL_ENDS = frozenset(".?!。？！")

_ends_with_question = re.compile(r"[?？؟][*_\"'”’»)\] \t]{0,9}\Z").search

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
"""Matches a sentence that begins with a word that refers to the text before it."""

begins_item = re.compile(r"\s*(?:[-*+•–]\s|\(?[0-9]{1,2}[.)]\s|\(?[a-z][.)]\s|\|)").match
"""Matches a sentence that begins with a mark of a list or a table."""


@dataclass(eq=False)
class Line:
    """What windows need to know of a sentence.

    Attributes:
        text: Its text.
        is_heading: Whether it is a heading.
        in_list: Whether it belongs to an item of a list.
        in_table: Whether it is a row of a table.
        has_lead_in: Whether a lead-in is shown above a window that begins with it.
        pieces: Indexes ``[start, end)`` of all pieces of the sentence that this is a piece of; ``None`` if it is whole.
        turn: Index of the first sentence of the turn of talk that it belongs to; ``None`` if it isn't of talk.
        ends_line: Whether the next sentence begins in another line.
        structure: ``table`` or ``list`` if it belongs to one; else empty.
        size: The characters of its text.
    """

    text: str
    is_heading: bool = False
    in_list: bool = False
    in_table: bool = False
    has_lead_in: bool = False
    pieces: Span | None = None
    turn: int | None = None
    ends_line: bool = False

    def __post_init__(self) -> None:
        """Set what the rules ask for most often."""
        self.structure = "table" if self.in_table else "list" if self.in_list else ""
        self.size = len(self.text)

    @cached_property
    def refers_back(self) -> bool:
        """Whether it begins with a word that refers to the sentence before it."""
        return refers_back(self.text) is not None

    @cached_property
    def begins_item(self) -> bool:
        """Whether it begins with a list marker, such as "-" or "2.", or with the bar of a table row."""
        return begins_item(self.text) is not None

    @cached_property
    def announces(self) -> bool:
        """Whether it ends with a colon."""
        return self.text.rstrip().endswith(COLONS)

    @cached_property
    def is_label(self) -> bool:
        """Whether it only names what follows: a heading, or short lines that don't end as sentences do."""
        return self.is_heading or (not self.begins_item and _has_form_of_label(self.text))

    @cached_property
    def asks(self) -> bool:
        """Whether it ends with a question mark, at the end of a line."""
        return self.ends_line and _ends_with_question(self.text) is not None


def _has_form_of_label(text: str) -> bool:
    """Return whether all lines are short and none ends as a sentence does, not even at a colon."""
    if text.rstrip().endswith(_ENDS_OF_LINES):
        return False
    lines = [each for each in map(str.strip, text.splitlines()) if each]
    return all(len(each) < MAX_LABEL_CHARS and not each.endswith(_ENDS_OF_LINES) for each in lines)


NO_LINE = Line("")
"""Represents a sentence outside of the section, or one that can't be read."""

Lookup: TypeAlias = Callable[[SentenceKey], Line | None]
"""Returns a sentence by document and index; ``None`` for one that can't be read, which ends windows."""


class SectionLines(dict[int, Line]):
    """The sentences of a section by index, each looked up when a rule first asks for it.

    Any index can be asked for: there is `NO_LINE` at those outside of the section. A line that has to be read first is
    looked up again each time, until it is there.
    """

    def __init__(self, doc_id: str, start: int, end: int, lookup: Lookup) -> None:
        """Begin without a line.

        Args:
            doc_id: The document.
            start: Index of the first sentence of the section.
            end: One past the index of its last sentence.
            lookup: Returns sentences.
        """
        super().__init__()
        self.doc_id, self.start, self.end, self.lookup = doc_id, start, end, lookup

    def __missing__(self, index: int) -> Line:
        """Look a line up."""
        line = self.lookup((self.doc_id, index)) if self.start <= index < self.end else None
        line = NO_LINE if line is None else line
        if line is not UNREAD:
            self[index] = line
        return line


UNREAD = Line("A sentence of the usual length stands for one that isn't read yet, as its text decides about little.")
"""Represents a sentence that is to be read; windows are assembled again when it has been."""


def complete(
    window: Window, lines: SectionLines, *, opens_backward: bool = True, keeps_sentences_whole: bool = True
) -> Window:
    """Add what a window needs so that it reads well; see the module.

    Args:
        window: The window.
        lines: The sentences of its section.
        opens_backward: Whether a sentence that refers back gets the text before it.
        keeps_sentences_whole: Whether a piece of a long sentence gets the others, and a short table or list is whole.

    Returns:
        A window that holds the given one, in the same section. Except for the rest of a short table or list, for turns
        of talk and an answer, a rule adds `MAX_ADDED` sentences on a side at most, and is applied three times at most.
    """
    first, last = window.first, window.last
    # Before the text under it is added: a heading may ask.
    last = answered = _past_question(lines, last) if lines[last].asks else last
    for _ in range(0 if needs_nothing(lines[first], lines[last]) else _MAX_ROUNDS):  # what one adds may need another
        before = first, last
        if keeps_sentences_whole:
            first, last = _whole_sentences(lines, first, last)
            hits = [lines[hit.index] for hit in window.hits]
            for structure in ("table", "list"):
                first, last = _whole_structure(lines, first, last, hits, structure)
        first, last = _whole_items(lines, first, last)
        last = _past_what_announces(lines, first, last)
        first = _before_what_refers(lines, first, opens_backward=opens_backward)
        if (first, last) == before:
            break
    if keeps_sentences_whole:
        first, last = _whole_turns(lines, first, last)
    if last != answered and lines[last].asks:
        last = _past_question(lines, last)
    return window.widened(first, last)


def with_whole_sentences(window: Window, lines: SectionLines) -> Window:
    """Add the other pieces of the sentences at both ends of a window."""
    return window.widened(*_whole_sentences(lines, window.first, window.last))


def needs_nothing(first: Line, last: Line) -> bool:
    """Return whether a window with these first and last sentences reads well, as most do.

    Turns of talk and questions are looked at elsewhere.
    """
    return not (
        first.pieces
        or last.pieces
        or first.in_list
        or last.in_list
        or first.in_table
        or last.in_table
        or first.refers_back
        or first.begins_item
        or last.announces
        or last.is_label
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """How much of its section a window takes in, as what is asked for is more than a fact.

    Attributes:
        min_chars: Characters that the window has at least, if its section has them; 0 for no minimum.
        max_section_chars: Characters of a section that is taken as a whole; 0 for none.
    """

    min_chars: int = 0
    max_section_chars: int = 0


NO_GROWTH = Growth()


def with_structure(window: Window, lines: SectionLines, growth: Growth) -> Window:
    """Grow a window, and make its turns of talk and its answer to a question whole."""
    larger = grow(window, lines, growth)
    first, last = _whole_turns(lines, larger.first, larger.last)
    return window.widened(first, _past_question(lines, last) if lines[last].asks else last)


def grow(window: Window, lines: SectionLines, growth: Growth) -> Window:
    """Add the text around a window, two sentences after it for each one before it; see `Growth`."""
    if growth is NO_GROWTH:  # as for most windows
        return window
    first, last, size = window.first, window.last, 0
    for index in range(first, last + 1):
        size += 1 + lines[index].size
    if growth.max_section_chars and _is_short(lines, growth.max_section_chars):
        return window.widened(lines.start, lines.end - 1)
    steps = 0
    while size < growth.min_chars:
        goes_on, goes_back = lines[last + 1] is not NO_LINE, lines[first - 1] is not NO_LINE
        if goes_on and not (goes_back and steps % 3 == 2):  # noqa: PLR2004
            last += 1
            size += 1 + lines[last].size
        elif goes_back:
            first -= 1
            size += 1 + lines[first].size
        else:
            break
        steps += 1
    return window.widened(first, last)


def _is_short(lines: SectionLines, max_chars: int) -> bool:
    """Return whether a section has at most so many characters, and all of it can be read."""
    if lines.end - lines.start > MAX_SHORT_LINES:  # before any of it is looked up
        return False
    size = 0
    for index in range(lines.start, lines.end):
        line = lines[index]
        size += 1 + line.size
        if line is NO_LINE or size > max_chars:
            return False
    return True


def says_something(window: Window, lines: SectionLines) -> bool:
    """Return whether a window is more than headings and labels, and doesn't end at a colon.

    Short lines that make up a whole section without a heading are its content, such as a row of a table file.
    """
    held = [lines[index] for index in range(window.first, window.last + 1)]
    if held[-1].announces:
        return False
    has_heading = False
    for line in held:
        if not line.is_label:
            return True
        has_heading = has_heading or line.is_heading
    return not has_heading and window.first <= lines.start and window.last >= lines.end - 1


def is_heading_alone(window: Window, lines: SectionLines) -> bool:
    """Return whether a window is nothing but headings."""
    return all(lines[index].is_heading for index in range(window.first, window.last + 1))


def ending_well(window: Window, lines: SectionLines) -> Window:
    """Cut what ends a window after its best hit and only points to what isn't in it.

    That is a sentence that announces, with a colon, what isn't in the section any more; and a short line alone between
    others, such as a heading without marks, unless it was hit.
    """
    last, best = window.last, window.best.index
    while last > best and lines[last].announces:
        last -= 1
    if last < window.last and lines[window.last + 1] is not NO_LINE:
        return window
    if last > best:
        line = lines[last]
        is_short = line.is_label and not line.in_list and line.text[-1:] not in _USUAL_ENDS
        is_alone = is_short and not lines[last - 1].is_label and lines[last + 1] is not NO_LINE
        if is_alone and all(hit.index != last for hit in window.hits):
            last -= 1
    if last == window.last:
        return window
    return replace(window, last=last, hits=tuple(hit for hit in window.hits if hit.index <= last))


# Lines are asked for only where a rule needs them, as looking one up may take a call of the store.


def _are_readable(lines: SectionLines, first: int, end: int) -> bool:
    return all(lines[index] is not NO_LINE for index in range(first, end))


def _whole_sentences(lines: SectionLines, first: int, last: int) -> tuple[int, int]:
    """Add the other pieces of the sentences at both ends."""
    start, end = lines[first].pieces, lines[last].pieces
    if start is not None and _are_readable(lines, start[0], first):
        first = min(first, start[0])
    if end is not None and _are_readable(lines, last + 1, end[1]):
        last = max(last, end[1] - 1)
    return first, last


def _whole_structure(
    lines: SectionLines, first: int, last: int, hits: Sequence[Line], structure: str
) -> tuple[int, int]:
    """Add the rest of a table, or a list, that is short for the number of its rows or items that were hit."""
    limit = 0
    for line in hits:
        if line.structure == structure:
            limit += SHORT_CHARS
    if not limit:
        return first, last
    low, high, size = first, last, 0
    for index in range(first, last + 1):
        size += lines[index].size
    while size <= limit:
        if lines[low].structure == structure and lines[low - 1].structure == structure:
            low = added = low - 1
        elif lines[high].structure == structure and lines[high + 1].structure == structure:
            high = added = high + 1
        else:
            return low, high
        size += 1 + lines[added].size
    return first, last


def _whole_turns(lines: SectionLines, first: int, last: int) -> tuple[int, int]:
    """Add the rest of the turns of talk at both ends, unless they are long, and what a short one answers."""
    start, turn = lines[first].turn, lines[last].turn
    if start is None and turn is None:  # as in most documents
        return first, last
    if start is not None:
        first = min(first, _whole_turn(lines, first, start)[0])
    if turn is not None:
        last = max(last, _whole_turn(lines, last, turn)[1])
    return _from_what_asked(lines, first, last), last


def _whole_turn(lines: SectionLines, index: int, start: int) -> tuple[int, int]:
    """Return the first and the last sentence of the turn that one belongs to; that one twice if the turn is long."""
    low, high, size = index, index, lines[index].size
    while size <= MAX_TURN_CHARS:
        if low > start and lines[low - 1] is not NO_LINE:
            low = added = low - 1
        elif lines[high + 1].turn == start:
            high = added = high + 1
        else:
            return low, high
        size += lines[added].size
    return index, index


def _from_what_asked(lines: SectionLines, first: int, last: int) -> int:
    """Add the question that a short turn answers."""
    asked = lines[first - 1]
    if lines[first].turn != first or asked.turn is None or not asked.asks or asked.size > MAX_ASKED_CHARS:
        return first
    size = 0
    for index in range(first, last + 1):
        size += lines[index].size
    return first - 1 if size < MIN_CHARS else first


def _past_question(lines: SectionLines, last: int) -> int:
    """Add the beginning of the answer to a question that has a line of its own, or ends a turn of talk.

    If that ends with a question, too, it goes on, up to `MAX_ANSWER_CHARS`.
    """
    if last > lines.start and not lines[last - 1].ends_line and lines[last].turn is None:
        return last
    added = 0
    while lines[last + 1] is not NO_LINE and (
        added < MIN_ANSWER_CHARS or (lines[last].asks and added < MAX_ANSWER_CHARS)
    ):
        last += 1
        added += lines[last].size
    return last


def _whole_items(lines: SectionLines, first: int, last: int) -> tuple[int, int]:
    """Add the rest of an item of which a part is in the window."""
    for _ in range(MAX_ADDED):
        line = lines[first]
        if not line.in_list or line.begins_item or not lines[first - 1].in_list:
            break
        first -= 1
    for _ in range(MAX_ADDED):
        if not lines[last].in_list:
            break
        after = lines[last + 1]
        if not after.in_list or after.begins_item:
            break
        last += 1
    return first, last


def _past_what_announces(lines: SectionLines, first: int, last: int) -> int:
    """Add the text below a window of labels alone, then what its last sentence announces."""
    are_labels = True
    for index in range(last, first - 1, -1):
        if not lines[index].is_label:
            are_labels = False
            break
    end = last + MAX_ADDED
    while are_labels and last < end and lines[last + 1] is not NO_LINE:
        last += 1
        are_labels = lines[last].is_label
    end = last + MAX_ADDED
    while last < end and lines[last].announces and lines[last + 1] is not NO_LINE:
        last += 1
    return last


def _before_what_refers(lines: SectionLines, first: int, *, opens_backward: bool) -> int:
    """Add what the first sentence refers to; open an item without a lead-in to what is before the list, if near."""
    lowest = first - MAX_ADDED
    while opens_backward and first > lowest and lines[first].refers_back and lines[first - 1] is not NO_LINE:
        first -= 1
    line = lines[first]
    if line.has_lead_in or not line.begins_item:
        return first
    for index in range(first - 1, first - 1 - MAX_ADDED, -1):
        before = lines[index]
        if before is NO_LINE:
            break
        if before.has_lead_in or not (before.in_list or before.begins_item):
            return index
    return first
