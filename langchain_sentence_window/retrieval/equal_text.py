"""Windows of equal text: how their texts are compared, and where else the text of a returned window stands."""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.documents.window_documents import window_document
from langchain_sentence_window.documents.window_merging import better_of, with_places
from langchain_sentence_window.windows.assembly import Assembled, Assembly, Equal


def equal_windows(windows: Sequence[Assembled], documents: Sequence[Document]) -> dict[int, Equal]:
    """Return which ranked windows became part of a window whose text is that of a better one, by their positions.

    Args:
        windows: The windows, best first.
        documents: Their Documents, in the same order.
    """
    return {
        rank: Equal(windows[worse].window, windows[better].ranks[0])
        for worse, better in better_of(documents).items()
        for rank in windows[worse].ranks
    }


def with_other_places(assembly: Assembly, documents: Sequence[Document], sentences: SentencesByKey) -> list[Document]:
    """Return the Documents of windows with the places of those that were left out as their texts are equal.

    Args:
        assembly: The windows.
        documents: Their Documents, in the same order.
        sentences: The sentences of all windows, also of those that were left out.
    """
    others = _by_better(assembly.equal)
    found = list[Document]()
    for each, document in zip(assembly.windows, documents, strict=True):
        windows = {rank: equal for better in each.ranks for rank, equal in others.get(better, {}).items()}
        made = [window_document(windows[rank].window, sentences) for rank in sorted(windows)]
        found.append(with_places(document, made) if made else document)
    return found


def _by_better(equal: Mapping[int, Equal]) -> dict[int, dict[int, Equal]]:
    found: dict[int, dict[int, Equal]] = {}
    for rank, each in equal.items():
        found.setdefault(each.better, {})[rank] = each
    return found
