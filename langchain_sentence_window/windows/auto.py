"""How far a hit is opened by the setting ``auto``: as far as it needs to say enough."""

from collections.abc import Callable, Sequence

from langchain_sentence_window._validation import checked_function
from langchain_sentence_window.windows.geometry import Hit, Window, check_kind, each_of

MIN_CHARS = 100
"""Characters. Recall within 400 / 800 / 1,600 characters on Chroma's benchmark, Doc2Dial and SQuAD together,
all-MiniLM-L6-v2: 68.4 / 76.8 / 83.5 with 80, 69.3 / 77.0 / 83.7 with 100, 67.9 / 76.6 / 84.2 with 150; with
one sentence forward for each hit, whatever its length, 66.4 / 75.4 / 83.7. It was chosen on these questions."""

MAX_FORWARD = 2
"""Sentences; a third one changed nothing."""

CLEAR_LEAD = 0.2
"""The share of the range of a search's scores by which the best hit is ahead of the second, from which on it
is taken for the answer, and opened by up to `MAX_FORWARD_OF_ANSWER` sentences until it has `MIN_CHARS_OF_ANSWER`
characters. Recall within 400 / 800 / 1,600 characters with and without, all-MiniLM-L6-v2: 55.5 / 67.9 / 78.5 and
56.6 / 67.0 / 78.4 on Chroma's benchmark, 70.9 / 75.9 / 80.7 and 70.1 / 75.6 / 80.4 on Doc2Dial, 78.3 / 88.7 /
93.0 and 80.7 / 89.0 / 93.0 on SQuAD, whose facts stand in one sentence each; 78.2 / 87.5 / 90.0 and 73.9 / 83.2 /
86.5 on the 40 questions of this project's examples, half of which need a clause further on. With leads of .2 to
.4 and 200 to 500 characters the means differed by less than a point. It was chosen on these questions."""

MIN_CHARS_OF_ANSWER = 300
"""Characters, see `CLEAR_LEAD`."""

MAX_FORWARD_OF_ANSWER = 4
"""Sentences, see `CLEAR_LEAD`."""

_LONGEST_LABEL = 90


def open_forward(hit: Hit, text: Callable[[int], str], *, is_answer: bool = False) -> Window:
    """Open a hit forward as far as it needs, cut to its section.

    What limits a sentence mostly follows it. One of `MIN_CHARS` characters says enough alone; a shorter one is
    opened until it does, by `MAX_FORWARD` sentences at most. A label, such as a heading or "Fees", names
    what follows, so it is always opened so far.

    Args:
        hit: What was found.
        text: The text of the sentence of the hit's document at an index.
        is_answer: Whether it is taken for the answer, see `clear_best`; then it is opened farther.
    """
    check_kind(hit, Hit)
    checked_function("text", text)
    enough, most = (MIN_CHARS_OF_ANSWER, MAX_FORWARD_OF_ANSWER) if is_answer else (MIN_CHARS, MAX_FORWARD)
    own = text(hit.index)
    last, length = hit.index, len(own)
    end = min(hit.section_end - 1, hit.index + most)
    label_end = hit.index + MAX_FORWARD if _is_label(own) else hit.index
    while last < end and (last < label_end or length < enough):
        last += 1
        length += 1 + len(text(last))
    return Window(hit.doc_id, hit.index, last, (hit,))


def clear_best(hits: Sequence[Hit]) -> Hit | None:
    """The best hit if it is far ahead of all others, as what answers a question mostly is; see `CLEAR_LEAD`.

    Args:
        hits: Best first.
    """
    hits = each_of(hits, Hit)
    if len(hits) < 2:  # noqa: PLR2004
        return next(iter(hits), None)
    lead, span = hits[0].score - hits[1].score, hits[0].score - hits[-1].score
    return hits[0] if span > 0 and lead > CLEAR_LEAD * span else None


def _is_label(text: str) -> bool:
    return len(text) < _LONGEST_LABEL and text[-1:] not in ".?!:;,\"'" and any(map(str.isalpha, text))
