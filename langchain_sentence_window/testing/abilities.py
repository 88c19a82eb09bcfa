"""Find out what a vector store can do by doing it."""

from dataclasses import asdict, dataclass
from typing import Any

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.testing.material import source

_KINDS = {"lists": ["a", "b"], "dicts": {"a": {"b": [1]}}, "null": None, "large numbers": 2**70}


@dataclass(frozen=True, slots=True)
class StoreAbilities:
    """The abilities of a vector store.

    Attributes:
        filters: Whether a search can be limited by metadata.
        fetches: Whether documents are fetched by id.
        fetches_within: Whether a filter holds for what is fetched by id, too.
        lists: Whether its documents can be listed.
        searches_words: Whether it searches by words through its adapter.
        in_one_transaction: Whether a document is replaced in one transaction.
        metadata: Kinds of values that it holds beside strings, numbers and booleans, joined by commas.
    """

    filters: bool
    fetches: bool
    fetches_within: bool
    lists: bool
    searches_words: bool
    in_one_transaction: bool
    metadata: str

    def to_dict(self) -> dict[str, bool | str]:
        """Return all attributes by their names."""
        return asdict(self)


def find_abilities(retriever: SentenceWindowRetriever, tenant_filter: Any) -> StoreAbilities:
    """Find out what the store of a retriever can do; two documents are left in it.

    Args:
        retriever: A retriever over an empty store.
        tenant_filter: A filter for documents of the tenant ``acme``; ``None`` if the store has no filters.
    """
    retriever.add_documents([source("mine", "One kiwi. Two kiwi.", "acme"), source("theirs", "One fig.", "umbra")])
    adapter = retriever.scope().adapter
    return StoreAbilities(
        filters=tenant_filter is not None,
        fetches=run(adapter.fetch(BLOCKING, [sentence_id("mine", 0)])) is not None,
        fetches_within=tenant_filter is not None and _fetches_within(adapter, tenant_filter),
        lists=_lists(adapter),
        searches_words=run(adapter.lexical_search(BLOCKING, "kiwi", {"k": 1})) is not None,
        in_one_transaction=_replaces(adapter),
        metadata=", ".join(kind for kind, value in _KINDS.items() if adapter.holds("key", value)),
    )


def _fetches_within(adapter: StoreAdapter, tenant_filter: Any) -> bool:
    ids = [sentence_id("mine", 0), sentence_id("theirs", 0)]
    try:
        found = run(adapter.fetch(BLOCKING, ids, adapter.join([tenant_filter])))
    except InvalidInputError:
        return False
    return found is not None and [each.page_content for each in found] == ["One kiwi."]


def _lists(adapter: StoreAdapter) -> bool:
    try:
        return len(run(adapter.list_documents(BLOCKING))) == 2  # noqa: PLR2004 - as many as were added
    except InvalidInputError:
        return False


def _replaces(adapter: StoreAdapter) -> bool:
    settings: dict[str, Any] = {"contexts": None, "within": None, "show_progress": False}
    return run(adapter.replace_documents(BLOCKING, [], [], **settings))
