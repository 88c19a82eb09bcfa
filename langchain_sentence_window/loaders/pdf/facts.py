"""Facts that only a whole file tells: running heads, the type of its body, its outline, its words.

They are found once and kept for the next time the same file is opened.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from langchain_sentence_window.loaders.pdf.columns import find_gutter
from langchain_sentence_window.loaders.pdf.gutters import Gutter, common_gutters
from langchain_sentence_window.loaders.pdf.headings import LARGE, Typography
from langchain_sentence_window.loaders.pdf.lines import Line, Run, median
from langchain_sentence_window.loaders.pdf.running import EdgeLine, running_lines
from langchain_sentence_window.loaders.pdf.vocabulary import Vocabulary

MAX_KEPT_FILES = 16
"""Files whose facts are kept."""

_USUAL_PITCH = 1.2
_MAX_PITCH = 3.0
_MIN_PITCHES = 3
_MAX_SIZES = 6


@dataclass(frozen=True, slots=True, eq=False)
class FileFacts:
    """The facts that only the whole file tells.

    Attributes:
        type_: Its typography.
        running: For each page, the indices of the rows that are running heads and feet.
        outline: For each page that has entries, their titles and levels.
        vocabulary: Its words.
        title_page: The number of the first page with text.
        gutters: Where its pages have columns.
        inkless: The pages without any text.
        textless: The pages known to have none but running heads and feet, or none at all. Those found later are added,
            so that no page is laid out again for each page that looks for its neighbors.
    """

    type_: Typography
    running: list[frozenset[int]]
    outline: dict[int, dict[str, int]]
    vocabulary: Vocabulary
    title_page: int
    gutters: list[Gutter]
    inkless: frozenset[int]
    textless: set[int]


_kept: OrderedDict[Hashable, FileFacts] = OrderedDict()
_lock = threading.Lock()


def kept_facts(key: Hashable, find: Callable[[], FileFacts]) -> FileFacts:
    """Return the facts of a file: those that are kept, else new ones, which are then kept.

    Args:
        key: Names the content of the file.
        find: Finds the facts.
    """
    with _lock:
        facts = _kept.get(key)
    if facts is None:
        facts = find()
    with _lock:
        _kept[key] = facts
        _kept.move_to_end(key)
        while len(_kept) > MAX_KEPT_FILES:
            _kept.popitem(last=False)
    return facts


def find_facts(pages: Iterable[list[Line]], outline: dict[int, dict[str, int]]) -> FileFacts:
    """Find what only the whole file tells.

    Args:
        pages: The rows of each page, see `PageRuns.rows`.
        outline: For each page that has entries of the outline, their titles and levels.
    """
    sizes: Counter[float] = Counter()
    bold = letters = 0
    pitches: list[float] = []
    edges: list[list[EdgeLine]] = []
    gutters: list[Gutter | None] = []
    vocabulary = Vocabulary()
    for rows in pages:
        for row in rows:
            for run in row.runs:
                sizes[round(run.size, 1)] += run.letters
                bold += run.bold
                letters += run.letters
        pitches += _pitches(rows)
        vocabulary.add((_run_text(row, run), run.x0, run.x1) for row in rows for run in row.runs)
        edges.append(_edge_lines(rows))
        gutters.append(find_gutter([run for row in rows for run in row.runs]))
    size = max(sizes, key=lambda each: (sizes[each], each)) if sizes else 1.0
    large = sorted((each for each in sizes if each >= LARGE * size), reverse=True)[:_MAX_SIZES]
    pitch = median(pitches) if len(pitches) >= _MIN_PITCHES else _USUAL_PITCH
    inkless = frozenset(number for number, lines in enumerate(edges) if not lines)
    title_page = next((number for number in range(len(edges)) if number not in inkless), 0)
    return FileFacts(
        type_=Typography(size, 2 * bold > letters, pitch, tuple(large)),
        running=running_lines(edges),
        outline=outline,
        vocabulary=vocabulary,
        title_page=title_page,
        gutters=common_gutters(gutters),
        inkless=inkless,
        textless=set(inkless),
    )


def _pitches(rows: list[Line]) -> list[float]:
    """Return the distances of lines of one paragraph, in font sizes: the second one begins in lower case."""
    return [
        distance
        for above, below in pairwise(rows)
        if below.text[:1].islower()
        and 0 < (distance := (below.base - above.base) / max(above.size, below.size)) < _MAX_PITCH
    ]


def _run_text(row: Line, run: Run) -> str:
    return " ".join([row.ink.text[start:end] for start, end in run.words])


def _edge_lines(rows: list[Line]) -> list[EdgeLine]:
    lines = []
    for i, row in enumerate(rows):
        space = _MAX_PITCH * row.size / 2
        above = i == 0 or row.base - rows[i - 1].base > space
        below = i + 1 == len(rows) or rows[i + 1].base - row.base > space
        lines.append(EdgeLine(row.text, row.base, above and below))
    return lines
