"""Rules of windows that were tuned on questions: how far ``auto`` expands a hit, and which hits are strong."""

from collections.abc import Callable, Collection, Sequence

from langchain_sentence_window._text import ENDS_OF_SENTENCES
from langchain_sentence_window._validation import checked_function
from langchain_sentence_window.windows.geometry import Hit, Window, check_kind, each_of

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
    check_kind(hit, Hit)
    checked_function("text", text)
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
    elsewhere = next((hit for hit in others if not _is_beside(hit, best)), None)
    if elsewhere is None:
        return best
    span = best.score - hits[-1].score
    leads = best.score - others[0].score > MIN_LEAD * span
    return best if leads or best.score - elsewhere.score > MIN_LEAD_ELSEWHERE * span else None


def _is_beside(hit: Hit, answer: Hit) -> bool:
    is_in_section = hit.doc_id == answer.doc_id and answer.section_start <= hit.index < answer.section_end
    return is_in_section and -1 <= hit.index - answer.index <= MAX_FORWARD_OF_ANSWER + 1


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
