"""`merge_windows`: the windows of several calls, each passage once, and windows of equal text once.

Windows of one document are walked through in order of position. Each joins the first group that reaches it and that it
agrees with. Usually there is one such group. Only where two versions of a document were searched, or two ways of
cutting it into sentences, do several lie side by side.

Two windows that overlap show the same sentences twice, so it can be seen whether they are of the same text. A window
says what white space follows it if its section continues, so windows that only touch can be joined, too.
"""

from collections.abc import Iterable, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError

from .keys import DOC_ID, END_INDEX, START_INDEX, TOKENS, WINDOW_ID
from .part_spans import cut_parts
from .window_documents import shown_text, unite_equal, with_counts, without_keys
from .window_fields import CountTokens, estimate_tokens, merged_values
from .window_runs import RunSentence, WindowRun, read_run


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
    return unite_equal(_merge_overlaps(_check_windows(windows), count_tokens))


def _check_windows(windows: object) -> list[Document]:
    """Return the elements of an iterable of Documents as a list."""
    if isinstance(windows, Document):  # it is an iterable, of its fields
        raise InvalidInputError("windows is a single Document; give a list of them: [window]")
    documents: list[Document] = []
    for position, each in enumerate(checked_list("windows", windows)):
        if not isinstance(each, Document):
            cure = "one list of Documents, not lists in it" if isinstance(each, list | tuple) else "a Document"
            raise InvalidInputError(f"windows[{position}] is {shown(each)}; give {cure}, as a retriever returns")
        documents.append(each)
    return documents


def _merge_overlaps(documents: Sequence[Document], count_tokens: CountTokens) -> list[Document]:
    """Merge windows that overlap, and leave out Documents that come again."""
    runs: list[WindowRun] = []
    placed: list[tuple[int, Document]] = []
    seen: set[tuple[str, str]] = set()
    for rank, document in enumerate(documents):
        run = read_run(document, rank)
        if run is not None:
            runs.append(run)
            continue
        names = _document_identities(document)
        if seen.isdisjoint(names):
            placed.append((rank, document))
        seen |= names
    placed += [
        (min(run.rank for run in group), group[0].document if len(group) == 1 else _one_window(group, count_tokens))
        for group in _group_runs(runs)
    ]
    return [document for _, document in sorted(placed, key=lambda pair: pair[0])]


def _document_identities(document: Document) -> set[tuple[str, str]]:
    """Return what identifies a Document that isn't a window, each of them by itself: its place, its id, its metadata.

    As text, because metadata may hold arrays, which can't be compared with ``==``.
    """
    metadata, text = document.metadata, document.page_content
    names = {(text, repr(metadata))}
    if metadata.get(DOC_ID) is not None:
        names.add((text, repr([metadata.get(key) for key in (DOC_ID, START_INDEX, END_INDEX)])))
    if document.id is not None:
        names.add((text, document.id))
    return names


def _group_runs(runs: Iterable[WindowRun]) -> list[list[WindowRun]]:
    """Return the windows that become one, each group in order of position."""
    groups: dict[str, list[list[WindowRun]]] = {}
    for run in sorted(runs, key=lambda run: (run.doc_id, run.start, run.end, run.rank)):
        of_document = groups.setdefault(run.doc_id, [])
        # The window that ends last holds all text of its group from the start of this one on. It is kept at the end.
        group = next((group for group in of_document if agree(group[-1], run)), None)
        if group is None:
            of_document.append([run])
        elif run.end < group[-1].end:
            group.insert(-1, run)
        else:
            group.append(run)
    return [group for of_document in groups.values() for group in of_document]


def agree(one: WindowRun, other: WindowRun) -> bool:
    """Return whether two windows of a document can be one.

    They can if they share sentences, which have the same text, place and white space after them. They can too if one
    begins where the next sentence after the other begins, in the same section.

    Args:
        one: A window.
        other: A window that doesn't begin before the first one.
    """
    shared = one.sentences.keys() & other.sentences.keys()
    low, high = other.start, min(one.end, other.end)
    if bool(one.parts) != bool(other.parts) or cut_parts(one.parts, low, high) != cut_parts(other.parts, low, high):
        return False
    if shared:
        return all(_is_same_sentence(one.sentences[index], other.sentences[index]) for index in shared)
    last, end = max(one.sentences), one.sentences[max(one.sentences)]
    follows = end.separator is not None and end.end + len(end.separator) == other.start
    return follows and last + 1 == min(other.sentences)


def _is_same_sentence(one: RunSentence, other: RunSentence) -> bool:
    is_known = one.separator is not None and other.separator is not None
    is_same = (one.start, one.end, one.text) == (other.start, other.end, other.text)
    return is_same and (not is_known or one.separator == other.separator)


def _one_window(runs: Sequence[WindowRun], count_tokens: CountTokens) -> Document:
    """Make one window of windows that agree, in order of position.

    It says its tokens if all of them were counted by this counter.
    """
    sentences: dict[int, RunSentence] = {}
    for run in runs:
        for index, sentence in run.sentences.items():
            if index not in sentences or sentences[index].separator is None:
                sentences[index] = sentence
    ordered = dict(sorted(sentences.items()))
    texts = [text for each in ordered.values() for text in (each.text, each.separator or "")]
    values = merged_values(runs, ordered)
    made = Document(id=values[WINDOW_ID], page_content="".join(texts[:-1]), metadata=values)
    were_counted = all(run.document.metadata.get(TOKENS) == count_tokens(shown_text(run.document)) for run in runs)
    return with_counts(made, count_tokens) if were_counted else without_keys(made, {TOKENS})
