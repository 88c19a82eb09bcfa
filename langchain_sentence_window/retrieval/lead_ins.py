"""Read the lead-ins of windows, those that aren't at hand in one call, or in one for each level of nested lists."""

from collections.abc import Iterable, Mapping, Sequence

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.window_documents import missing_lead_ins
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.windows.geometry import Window


def wanted_lead_ins(windows: Iterable[Window], sentences: SentencesByKey) -> list[SentenceKey]:
    """Return which lead-ins of windows aren't at hand, each once."""
    return list(dict.fromkeys(key for window in windows for key in missing_lead_ins(window, sentences)))


async def fetch_lead_ins(
    io: IO, scope: Scope, windows: Sequence[Window], sentences: Mapping[SentenceKey, StoredSentence]
) -> dict[SentenceKey, StoredSentence]:
    """Read the lead-ins that aren't at hand; leave out those that can't be read or that the filter forbids.

    Args:
        io: Makes the calls.
        scope: The store, and what may be read of it. No call is made if all lead-ins are at hand.
        windows: The windows.
        sentences: Their sentences, and others at hand.

    Raises:
        IncompleteWindowError: A document changed since its window was read.
    """
    found: dict[SentenceKey, StoredSentence] = {}
    asked: set[SentenceKey] = set()
    while True:
        have = {**sentences, **found}
        wanted = [key for key in wanted_lead_ins(windows, have) if key not in asked]
        if not wanted:
            return found
        asked.update(wanted)
        # The windows' first sentences tell whether the documents are still those that the windows are from.
        names = {doc_id for doc_id, _ in wanted}
        starts = ((window.doc_id, window.first) for window in windows if window.doc_id in names)
        first = [key for key in dict.fromkeys(starts) if key in sentences]
        try:
            documents = await scope.fetch(io, [*wanted, *first])
        except InvalidInputError:  # the filter can't be enforced by id
            return found
        if documents is None:
            return found
        read = by_key(map(scope.adapter.read, documents))
        for key in first:
            if key not in read or (read[key].text, read[key].start) != (sentences[key].text, sentences[key].start):
                raise IncompleteWindowError(
                    f"document {key[0]!r} changed between the reading of a window and of what leads it in; ask again"
                )
        found |= {key: read[key] for key in wanted if key in read}
