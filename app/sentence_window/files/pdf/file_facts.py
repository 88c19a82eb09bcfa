"""Facts that only the whole file shows: running heads and feet, body type, outline, vocabulary and columns.

They are computed once, and kept for the next time the same file is opened.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from .columns import Gutter, common_gutters, find_gutter
from .headings import LARGE
from .hyphens import Vocabulary
from .lines import MAX_PITCH, MIN_PITCHES, TextLine, Typography, median, pitches_of
from .running_lines import EdgeLine, running_lines

MAX_KEPT_FILES = 16
"""Files whose facts are kept in memory."""

_USUAL_PITCH = 1.2
_MAX_SIZES = 6


@dataclass(frozen=True, slots=True, eq=False)
class FileFacts:
    """Facts that only the whole file shows.

    Attributes:
        type_: Its typography.
        running: For each page, the indices of its rows that are running heads and feet.
        outline: For each page with outline entries, their titles and levels.
        vocabulary: Its words.
        title_page: The number of the first page with text.
        gutters: The columns that its pages share.
        inkless: The pages without any text.
        textless: The pages known to hold at most running heads and feet. Pages found later are added, so that none is
            laid out again for each of its neighbors.
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
    """Return the facts of a file, computed at most once while they are kept.

    Args:
        key: Identifies the content of the file.
        find: Computes the facts.
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


def find_facts(pages: Iterable[list[TextLine]], outline: dict[int, dict[str, int]]) -> FileFacts:
    """Compute the facts of a file.

    Args:
        pages: The rows of each page, see `PageRuns.rows`.
        outline: For each page with outline entries, their titles and levels.
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
        pitches += pitches_of(rows)
        vocabulary.add((row.ink.text_of(run.words), run.x0, run.x1) for row in rows for run in row.runs)
        edges.append(_edge_lines(rows))
        gutters.append(find_gutter([run for row in rows for run in row.runs]))
    size = max(sizes, key=lambda each: (sizes[each], each)) if sizes else 1.0
    large = sorted((each for each in sizes if each >= LARGE * size), reverse=True)[:_MAX_SIZES]
    pitch = median(pitches) if len(pitches) >= MIN_PITCHES else _USUAL_PITCH
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


def _edge_lines(rows: list[TextLine]) -> list[EdgeLine]:
    lines = []
    for i, row in enumerate(rows):
        space = MAX_PITCH * row.size / 2
        above = i == 0 or row.base - rows[i - 1].base > space
        below = i + 1 == len(rows) or rows[i + 1].base - row.base > space
        cells = tuple((run.x0, run.x1) for run in row.runs)
        lines.append(EdgeLine(row.text, row.base, above and below, row.size, cells))
    return lines
