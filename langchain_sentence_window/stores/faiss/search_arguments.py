"""Check what the searches of `FaissStore` take: efforts, filters and weights."""

from collections.abc import Mapping, Sequence

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import as_number, checked_callback, checked_flag, checked_weight, listed
from langchain_sentence_window.documents.keys import RENAMED
from langchain_sentence_window.documents.window_metadata import CONTRACT_KEYS
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.stores.faiss.candidates import Rank
from langchain_sentence_window.stores.faiss.database.filters import Condition, Filter, compile_filter


def checked_effort(value: object) -> float:
    """Return a search effort, which must be a number above 0; infinity is one.

    Raises:
        InvalidInputError: It isn't.
    """
    effort = as_number(value)
    if effort > 0:
        return effort
    raise InvalidInputError(
        f"search_effort is {shown(value)}; it must be a number above 0: 1 is usual, 2 looks at twice as much, and "
        "float('inf') at everything"
    )


def unknown_keys(keys: Sequence[str]) -> SentenceWindowWarning:
    """Return a warning that a filter found nothing because no document has some of its keys."""
    return SentenceWindowWarning(
        f"nothing was found, as no document has {listed(keys)} in its metadata, which the filter asks for; "
        f"{_spelling(keys)}"
    )


def _spelling(keys: Sequence[str]) -> str:
    renamed = [f"{RENAMED}{key}" for key in keys if key in CONTRACT_KEYS]
    if renamed:
        return f"a document's own key of that name is stored as {listed(renamed)}"
    return "check that the keys are spelled as in the documents that were added"


def check_hybrid(lexical_weight: float, rank: Rank | None, spreads: bool | None) -> bool:  # noqa: FBT001 - as given
    """Check arguments of a hybrid search, and return whether words spread."""
    checked_weight("lexical_weight", lexical_weight)
    if rank is not None:
        checked_callback("rank", rank, "candidates")
    return rank is None if spreads is None else checked_flag("spreads", spreads)


def condition_of(filter: Filter | None) -> Condition | None:
    """Compile a filter; ``None`` if there is none, or an empty one."""
    if filter is None or (isinstance(filter, Mapping) and not filter):
        return None
    return compile_filter(filter)
