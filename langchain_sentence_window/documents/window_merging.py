"""`merge_windows`: the windows of several calls, each passage once, and windows of equal text once.

Windows of one document are walked through in order of position. Each joins the first group that reaches it and that it
agrees with. Usually there is one such group. Only where two versions of a document were searched, or two ways of
cutting it into sentences, do several lie side by side.

Two windows that overlap show the same characters twice, so it can be seen whether they are of the same text. A window
says what white space follows it as long as its section goes on, so those that only touch can be joined too.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError

from .joined_document import PartSpan, cut_parts
from .keys import DOC_ID, END_INDEX, START_INDEX, WINDOW_ID
from .metadata_values import own_values
from .window_documents import counts_anew, unite_equal
from .window_fields import FIELDS, CountTokens, JoinedRuns, estimate_tokens
from .window_runs import RunHit, WindowRun, fit, is_rising, read_run


def merge_windows(windows: Iterable[Document], *, count_tokens: CountTokens = estimate_tokens) -> list[Document]:
    """Merge the windows of several queries, so that each passage is returned once, with all its hits.

    Windows that overlap become one, and so do windows of a section that follow each other. The merged window has the
    text from the first sentence to the last, each hit once with its best score, and the best ``relevance_score``. If
    windows in different places have equal text, the best is returned, with the places of the others in ``also_in``.

    Scores of different queries can't be compared, so a merged window takes the place of the first window in it. Merging
    merged windows changes nothing.

    Windows stay separate if they can't be of the same text, such as when a document changed between two queries. Other
    Documents keep their place, without duplicates; so do windows whose text was shortened or rewritten.

    Args:
        windows: The windows that retrievers returned, one list after the other or fused, best first.
        count_tokens: The retrievers' own ``count_tokens``, to count the tokens of merged windows.

    Returns:
        The windows and other Documents, best first. What was merged is new; what was given isn't changed.

    Raises:
        InvalidInputError: ``windows`` isn't a list of Documents.
    """
    given = _checked(windows)
    merged = _merged(given, count_tokens)
    while len(merged) < len(given):  # a joined window may agree with one that none of its own did
        given, merged = merged, _merged(merged, count_tokens)
    return unite_equal(merged)


def _checked(windows: object) -> list[Document]:
    """Return the elements of an iterable of Documents as a list."""
    if isinstance(windows, Document):  # it is an iterable, of its fields
        raise InvalidInputError("windows is a single Document; give a list of them: [window]")
    found: list[Document] = []
    for position, each in enumerate(checked_list("windows", windows)):
        if not isinstance(each, Document):
            cure = "one list of Documents, not lists in it" if isinstance(each, list | tuple) else "a Document"
            raise InvalidInputError(f"windows[{position}] is {shown(each)}; give {cure}, as a retriever returns")
        if not isinstance(each.page_content, str) or not isinstance(each.metadata, dict):
            raise InvalidInputError(
                f"windows[{position}] has {shown(each.page_content)} as its page_content and {shown(each.metadata)} as "
                "its metadata; they must be a string and a dict"
            )
        found.append(each)
    return found


def _merged(documents: Sequence[Document], count_tokens: CountTokens) -> list[Document]:
    """Join windows that overlap, and leave out Documents that come again."""
    runs: dict[str, list[WindowRun]] = {}
    others: dict[str, list[Document]] = {}
    placed: list[tuple[int, Document]] = []
    for rank, document in enumerate(documents):
        run = read_run(document, rank)
        if run is not None:
            runs.setdefault(run.doc_id, []).append(run)
            continue
        alike = others.setdefault(document.page_content, [])
        if not any(_is_same(document, each) for each in alike):
            alike.append(document)
            placed.append((rank, document))
    for of_document in runs.values():
        for group in _groups(of_document):
            document = group.runs[0].document if len(group.runs) == 1 else joined(group.runs, count_tokens)
            placed.append((min(run.rank for run in group.runs), document))
    return [document for _, document in sorted(placed, key=lambda pair: pair[0])]


def _is_same(one: Document, other: Document) -> bool:
    """Return whether two Documents of equal text that aren't windows are the same."""
    places = [[each.metadata.get(key) for key in (DOC_ID, START_INDEX, END_INDEX)] for each in (one, other)]
    try:
        is_placed = places[0][0] is not None and bool(places[0] == places[1])
        return is_placed or (one.id is not None and one.id == other.id) or bool(one.metadata == other.metadata)
    except Exception:  # noqa: BLE001 - metadata may hold arrays, which can't be compared so
        return False


class _Group:
    """Windows of one document that become one, in order of position."""

    def __init__(self, run: WindowRun) -> None:
        self.runs = [run]
        self.reach = run
        """The window that ends last. It holds all text of the group from the start of the next window on."""
        self._hits = list(run.hits)

    def takes(self, run: WindowRun) -> bool:
        """Add a window that begins no earlier than all others if it agrees with them; return whether it does."""
        if not agree(self.reach, run):
            return False
        at = bisect_left(self._hits, run.first, key=lambda hit: hit.index)
        hits = self._hits[at:]
        known = {(hit.index, hit.start, hit.end) for hit in hits}
        hits += [hit for hit in run.hits if (hit.index, hit.start, hit.end) not in known]
        hits.sort(key=lambda hit: hit.index)
        if not is_rising([*self._hits[max(0, at - 1) : at], *hits]):
            return False
        self._hits[at:] = hits
        self.runs.append(run)
        if run.reach() > self.reach.reach():
            self.reach = run
        return True


def _groups(runs: Iterable[WindowRun]) -> list[_Group]:
    groups: list[_Group] = []
    reaching: list[_Group] = []
    for run in sorted(runs, key=lambda run: (run.start, run.end, run.rank)):
        reaching = [group for group in reaching if (group.reach.next_start or group.reach.end) >= run.start]
        if not any(group.takes(run) for group in reaching):
            reaching.append(_Group(run))
            groups.append(reaching[-1])
    return groups


def agree(one: WindowRun, other: WindowRun) -> bool:
    """Return whether two windows can be one.

    They can if they overlap, and number and place their sentences alike, and show the same text where they overlap.
    They can too if one begins where the next sentence after the other begins, in the same section.

    Args:
        one: A window.
        other: A window of the same document that doesn't begin before the first one, nor after the next sentence.
    """
    if bool(one.parts) != bool(other.parts):
        return False
    if one.end <= other.start:
        return one.next_start == other.start and one.last + 1 == other.first and _fit_parts(one, other)
    at, end = other.start - one.start, min(one.end, other.end)
    return (
        other.first <= one.last
        and _sign(other.first - one.first) == _sign(at)
        and _sign(other.last - one.last) == _sign(other.end - one.end)
        and one.text[at : at + end - other.start] == other.text[: end - other.start]
        and fit(one.hits, other)
        and fit(other.hits, one)
        and _fit_sentences(one, other)
        and _fit_separators(one, other)
        and _fit_parts(one, other)
    )


def joined(runs: Sequence[WindowRun], count_tokens: CountTokens) -> Document:
    """Join windows that agree into one.

    Args:
        runs: The windows, in order of position; each overlaps or touches those before it.
        count_tokens: Counts the tokens of a text.

    Returns:
        A window whose metadata is that of the window with the best hit, but for the fields that have a rule of their
        own for windows that are joined.
    """
    ranked = sorted(runs, key=lambda run: run.rank)
    ending = max(runs, key=WindowRun.reach)
    hits: dict[int, tuple[RunHit, WindowRun]] = {}
    for run in ranked:
        for hit in run.hits:
            if hit.index not in hits or hit.score > hits[hit.index][0].score:
                hits[hit.index] = hit, run
    best, holder = max(hits.values(), key=lambda held: (held[0].score, -held[0].index))
    one = JoinedRuns(
        runs,
        ranked,
        first=runs[0].first,
        last=max(run.last for run in runs),
        start=runs[0].start,
        end=ending.end,
        separator=ending.separator,
        hits={index: hit for index, (hit, _) in hits.items()},
        best=best,
        holder=holder,
        parts=_united_spans(part for run in runs for part in run.parts),
    )
    values = {field.key: field.join(one) for field in FIELDS if field.join}
    kept = {key: value for key, value in own_values(holder.document.metadata).items() if key not in values}
    metadata = kept | {key: value for key, value in values.items() if value is not None}
    made = Document(id=values[WINDOW_ID], page_content=_joined_text(runs), metadata=metadata)
    return counts_anew(made, [run.document for run in runs], count_tokens)


def _joined_text(runs: Iterable[WindowRun]) -> str:
    pieces: list[str] = []
    reach: WindowRun | None = None
    for run in runs:
        if reach is None or run.end > reach.end:
            if reach is not None and run.start >= reach.end:
                pieces.append(reach.separator or "")
            pieces.append(run.text if reach is None else run.text[max(0, reach.end - run.start) :])
            reach = run
    return "".join(pieces)


def _fit_separators(one: WindowRun, other: WindowRun) -> bool:
    """Return whether windows that overlap have the same white space after the first end, as far as it is known."""
    ending, longer = sorted((one, other), key=lambda run: run.end)
    if ending.separator is None:
        return True
    if ending.end == longer.end:
        return longer.separator in (None, ending.separator)
    at = ending.end - longer.start
    after = at + len(ending.separator)
    return longer.text[at:after] == ending.separator and not longer.text[after : after + 1].isspace()


def _fit_sentences(one: WindowRun, other: WindowRun) -> bool:
    """Return whether windows that overlap cut their text into the same sentences, as far as it is known."""
    if not one.sentences or not other.sentences:
        return True
    held = one.sentences[other.first - one.first :][: other.last - other.first + 1]
    return held == other.sentences[: one.last - other.first + 1]


def _fit_parts(one: WindowRun, other: WindowRun) -> bool:
    """Return whether the parts of two windows can be joined without changing those of either."""
    spans = _united_spans([*one.parts, *other.parts])
    return all(tuple(cut_parts(spans, run.start, run.end)) == run.parts for run in (one, other))


def _united_spans(spans: Iterable[PartSpan]) -> list[PartSpan]:
    """Join spans of windows that overlap: those that overlap or follow each other in one part."""
    united: list[PartSpan] = []
    for span in sorted(spans, key=lambda span: span.source_start):
        last = united[-1] if united else None
        if last and (last.identity, last.start - last.source_start) == (span.identity, span.start - span.source_start):
            united[-1] = last._replace(end=max(last.end, span.end))
        else:
            united.append(span)
    return united


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
