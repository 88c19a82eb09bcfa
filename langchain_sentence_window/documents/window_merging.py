"""`merge_windows`: the windows of several calls, each passage once, and windows of equal text once.

Windows of one document are walked through in order of position. Each joins the first group that reaches it and that it
agrees with. Usually there is one such group. Only where two versions of a document were searched, or two ways of
cutting it into sentences, do several lie side by side.

Two windows that overlap show the same sentences twice, so it can be seen whether they are of the same text. A window
says what white space follows it as long as its section goes on, so those that only touch can be joined too.
"""

from collections.abc import Iterable, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError

from .keys import DOC_ID, END_INDEX, START_INDEX, WINDOW_ID
from .part_spans import cut_parts, joined_spans
from .window_documents import unite_equal, with_new_counts
from .window_fields import CountTokens, estimate_tokens, merged_values
from .window_runs import WindowRun, read_run


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
    return unite_equal(_merged(_checked(windows), count_tokens))


def _checked(windows: object) -> list[Document]:
    """Return the elements of an iterable of Documents as a list."""
    if isinstance(windows, Document):  # it is an iterable, of its fields
        raise InvalidInputError("windows is a single Document; give a list of them: [window]")
    documents: list[Document] = []
    for position, each in enumerate(checked_list("windows", windows)):
        if not isinstance(each, Document):
            cure = "one list of Documents, not lists in it" if isinstance(each, list | tuple) else "a Document"
            raise InvalidInputError(f"windows[{position}] is {shown(each)}; give {cure}, as a retriever returns")
        if not isinstance(each.page_content, str) or not isinstance(each.metadata, dict):
            raise InvalidInputError(
                f"windows[{position}] has {shown(each.page_content)} as its page_content and {shown(each.metadata)} as "
                "its metadata; they must be a string and a dict"
            )
        documents.append(each)
    return documents


def _merged(documents: Sequence[Document], count_tokens: CountTokens) -> list[Document]:
    """Merge windows that overlap, and leave out Documents that come again."""
    runs: list[WindowRun] = []
    others: dict[str, list[Document]] = {}
    placed: list[tuple[int, Document]] = []
    for rank, document in enumerate(documents):
        run = read_run(document, rank)
        alike = others.setdefault(document.page_content, [])
        if run is not None:
            runs.append(run)
        elif not any(_is_same(document, each) for each in alike):
            alike.append(document)
            placed.append((rank, document))
    for group in _groups(runs):
        is_alone = len(group.runs) == 1
        document = group.runs[0].document if is_alone else _one_window(group.runs, count_tokens)
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
    """Windows of one document that become one, in order of position.

    Attributes:
        runs: The windows.
        ending: The window that ends last. It holds all text of the group from the start of the next window on, so the
            next one is compared with it alone.
    """

    def __init__(self, run: WindowRun) -> None:
        self.runs, self.ending = [run], run

    def add(self, run: WindowRun) -> None:
        self.runs.append(run)
        self.ending = max(self.ending, run, key=lambda each: each.reach)

    def reaches(self, run: WindowRun) -> bool:
        ending = self.ending
        return ending.doc_id == run.doc_id and (ending.next_start or ending.end) >= run.start


def _groups(runs: Iterable[WindowRun]) -> list[_Group]:
    groups: list[_Group] = []
    reaching: list[_Group] = []
    for run in sorted(runs, key=lambda run: (run.doc_id, run.start, run.end, run.rank)):
        reaching = [group for group in reaching if group.reaches(run)]
        agreeing = next((group for group in reaching if agree(group.ending, run)), None)
        if agreeing is not None:
            agreeing.add(run)
        else:
            reaching.append(_Group(run))
            groups.append(reaching[-1])
    return groups


def agree(one: WindowRun, other: WindowRun) -> bool:
    """Return whether two windows can be one.

    They can if they overlap, with the same sentences and the same text where they do. They can too if one begins where
    the next sentence after the other begins, in the same section.

    Args:
        one: A window.
        other: A window of the same document that doesn't begin before the first one, nor after the next sentence.
    """
    if bool(one.parts) != bool(other.parts) or not _fit_parts(one, other):
        return False
    if one.last + 1 == other.first:
        return one.next_start == other.start
    if not one.first <= other.first <= one.last:
        return False
    shared = one.sentences[other.first - one.first :][: len(other.sentences)]
    low, high = other.start, min(one.end, other.end)
    return (
        shared == other.sentences[: len(shared)]
        and one.text[low - one.start : high - one.start] == other.text[: high - low]
        and _fit_separators(one, other)
    )


def _fit_separators(one: WindowRun, other: WindowRun) -> bool:
    """Return whether windows that overlap have the same white space after the first end, as far as it is known."""
    ending, longer = sorted((one, other), key=lambda run: run.last)
    if ending.last == longer.last:
        return ending.separator is None or longer.separator in (None, ending.separator)
    following, _ = longer.sentences[ending.last + 1 - longer.first]
    return ending.separator in (None, longer.text[ending.end - longer.start : following - longer.start])


def _fit_parts(one: WindowRun, other: WindowRun) -> bool:
    """Return whether the parts of two windows can be joined without changing those of either."""
    spans = joined_spans([*one.parts, *other.parts])
    return all(cut_parts(spans, run.start, run.end) == run.parts for run in (one, other))


def _one_window(runs: Sequence[WindowRun], count_tokens: CountTokens) -> Document:
    """Make one window of windows that agree, in order of position."""
    texts, end, separator = [runs[0].text], runs[0].end, runs[0].separator
    for run in runs[1:]:
        if run.end > end:
            texts += [separator or "", run.text] if run.start >= end else [run.text[end - run.start :]]
            end, separator = run.end, run.separator
        elif run.end == end:
            separator = separator or run.separator
    values = merged_values(runs)
    made = Document(id=values[WINDOW_ID], page_content="".join(texts), metadata=values)
    return with_new_counts(made, [run.document for run in runs], count_tokens)
