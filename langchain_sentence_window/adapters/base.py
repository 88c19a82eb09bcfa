"""`StoreAdapter`: how this package uses a vector store, for any store that follows LangChain's interface.

`StoreTraits` describes a store; `SearchMethods`, `ReadMethods` and `WriteMethods` call it. Each method does one thing
that a store can do. The adapters of stores that do it differently are in modules of their own beside this one, and
override no more than that.
"""

from collections.abc import Sequence
from typing import Any

from langchain_sentence_window.adapters.read_methods import ReadMethods
from langchain_sentence_window.adapters.search_methods import SearchMethods
from langchain_sentence_window.adapters.write_methods import WriteMethods
from langchain_sentence_window.documents.keys import DOC_ID


class StoreAdapter(WriteMethods, ReadMethods, SearchMethods):  # the reference lists the last one first
    """Uses a vector store that follows LangChain's interface, filters by mappings and replaces documents by id.

    To support a store that differs, override what differs, and pass the class to `register`. An adapter is made for
    each query, so it keeps nothing but the store.

    Methods that take ``io`` run blocking and async. Use ``await io.call(store.method, store.amethod, ...)`` for a call
    that exists in both forms, and ``await io.in_thread(store.method, ...)`` for one that only blocks.
    """

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter, in the store's form, that matches the sentences of some source documents.

        Returns:
            ``None`` if it isn't known how the store filters.
        """
        if type(self) is StoreAdapter:  # a store that nobody wrote an adapter for
            return None
        return {DOC_ID: doc_ids[0] if len(doc_ids) == 1 else {"$in": list(doc_ids)}}
