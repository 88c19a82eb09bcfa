"""The retriever's settings: what they are, and which of them a call may give."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Self, TypedDict

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableSerializable, ensure_config
from langchain_core.runnables.utils import AnyConfigurableField
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from langchain_sentence_window._arguments import checked_counter
from langchain_sentence_window._checked_settings import (
    RELATED_NAMES,
    Check,
    CheckedSettings,
    likely_name,
    warn_of_related,
)
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.matchers import own_copy
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope, check_binds, scope_of
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_fields import estimate_tokens
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.retrieval.expansion import WindowSetting, read_expansion
from langchain_sentence_window.retrieval.query import Request, checked_query
from langchain_sentence_window.retrieval.search import MinRelevance, Search, check_search_settings
from langchain_sentence_window.retrieval.setting_checks import CHECKS, NOT_SETTINGS
from langchain_sentence_window.stores.bm25_index import BM25Index
from langchain_sentence_window.windows.assembly import Order


class CallSettings(TypedDict, total=False):
    """Settings that a single call may give: ``retriever.invoke(query, k=3, order="document")``.

    A setting that a call leaves out is the retriever's. So is ``None`` for ``k`` and ``window``.
    """

    k: int | None
    """The number of windows to return."""
    fetch_k: int
    """The number of sentences to search at first."""
    window: WindowSetting | None
    """How far each hit is expanded."""
    window_key: str | None
    """The metadata key that a mapping in ``window`` looks at."""
    max_tokens: int | None
    """The most tokens that all windows may have together."""
    count_tokens: Callable[[str], int]
    """Counts the tokens of a text."""
    order: Order
    """The order in which windows are returned."""
    lexical_weight: float
    """How much words count compared with meaning."""
    min_score: float | None
    """The lowest similarity of a sentence that counts as a hit."""
    ranking: Any
    """How the candidates of a search are reordered."""
    names: bool | Sequence[str]
    """Whether documents that the question names are searched first."""
    min_relevance: MinRelevance
    """Whether windows that the question doesn't support are left out."""
    filter: Any
    """Narrows the retriever's own filter."""


_OF_A_CALL = frozenset(CallSettings.__annotations__)


class _Filters(tuple[Any, ...]):
    """Filters of which all bind."""

    __slots__ = ()


def with_configured(config: RunnableConfig | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Add the settings of a run's configuration to those of a call, which come first; of filters, all bind.

    Other keys of the configuration are left to other parts of the program. Where no other part can be meant, a warning
    tells of one that looks like a setting.

    Args:
        config: The configuration of the run; ``None`` for that of the run around it.
        given: The settings of the call.
    """
    run = ensure_config(config)
    configured = {name: value for name, value in run.get("configurable", {}).items() if name in _OF_A_CALL}
    if getattr(run.get("callbacks"), "parent_run_id", None) is None:
        warn_of_related(run.get("configurable", {}).keys() - _OF_A_CALL, _OF_A_CALL, "the retriever")
    settings = {**configured, **{name: value for name, value in given.items() if not _is_left_out(name, value)}}
    own, bound = given.get("filter"), configured.get("filter")
    if bound is not None:
        filters = own if isinstance(own, _Filters) else _Filters([] if own is None else [own])
        settings["filter"] = filters if any(each is bound for each in filters) else _Filters([*filters, bound])
    return settings


def _is_left_out(name: str, value: Any) -> bool:
    return value is None and name in ("k", "window")


class RetrieverSettings(CheckedSettings, BaseRetriever):
    """The fields of `SentenceWindowRetriever`, and the request that they and a call make together."""

    vectorstore: VectorStore
    """The store that holds the sentences; any LangChain vector store."""
    k: int = 10
    """The number of windows to return, as far as the store has that many and ``max_tokens`` allows them."""
    fetch_k: int = 50
    """The number of sentences to search at first. More are searched if they make fewer than ``k`` windows."""
    window: WindowSetting = "auto"
    """How far each hit is expanded. ``auto`` expands it forward as far as it needs, a number by that many sentences
    on each side, a pair by ``(before, after)``. A mapping such as ``{"legal": (3, 5), "faq": 1}`` chooses by a value
    of the document's metadata; other documents get ``auto``."""
    window_key: str | None = None
    """The metadata key that a mapping in ``window`` looks at; ``None`` for any key."""
    lexical_weight: float = LEXICAL_WEIGHT
    """How much words count compared with meaning, 0 or more; 0 ignores words. Without a ``ranking``, it needs a store
    that searches by words, such as `FaissStore`, or ``bm25_index``."""
    ranking: Any = DEFAULT_RANKING
    """How the candidates of a search are reordered: a `Ranking`, or the path of a JSON file that holds one, such as
    `fit_ranking` writes. ``None`` keeps the order of the search."""
    names: bool | Sequence[str] = True
    """Whether a question that names documents, such as "In the agreement between A and B, …", is asked of these first.
    Names are heard from titles, file names, folders and the first lines of documents; keys of metadata add others, such
    as ``names=["customer"]``. See "Ask about a document by name" in the page "Find the right sentence first"."""
    min_relevance: MinRelevance = None
    """``auto`` leaves out windows that the question doesn't support, so that a question on another subject returns
    nothing. ``None`` returns ``k`` windows for any question."""
    bm25_index: BM25Index | None = None
    """Scores by words beside a store that can't. The default ranking compares words itself, and doesn't look at it."""
    max_tokens: int | None = None
    """The most tokens that all windows may have together; ``None`` for no limit. A window that doesn't fit loses
    neighbors first, then its weaker hits. It is left out if its best hit doesn't fit."""
    count_tokens: Callable[[str], int] = estimate_tokens
    """Counts the tokens of a text."""
    order: Order = "relevance"
    """``relevance`` for best first, ``document`` for the order of the source, ``edges`` for best first and last."""
    min_score: float | None = None
    """The lowest similarity of a sentence that counts as a hit: the score of the store's search by meaning, such as a
    cosine. ``None`` for any."""
    filter: Any = None
    """Limits everything that is read or written, in the form that the store's search takes. A call's filter, one in
    ``search_kwargs``, and one that a run configures narrow it further. See the page "Filter by metadata" for what it
    covers."""
    reranker: BaseDocumentCompressor | None = None
    """Ranks all windows before the best are taken."""
    search_kwargs: Mapping[str, Any] = Field(default_factory=dict)
    """More arguments for the store's search, such as the settings of its own hybrid search. A filter among them
    limits what ``filter`` limits; all others affect the search alone."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Splits the documents that are added."""
    embed_headings: bool = True
    """Whether sentences are embedded with their heading path in front, in stores that allow it. Embedding takes longer,
    and a changed heading embeds its section again. See the benchmarks page."""
    situate: Situate | None = None
    """Called as ``situate(document, sentence)`` for each sentence that is added. It returns a line that says what the
    sentence is about, which is put in front when the sentence is embedded, and nowhere else. A long line is cut."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    checks: ClassVar[Mapping[str, Check]] = CHECKS
    elsewhere: ClassVar[Mapping[str, str]] = NOT_SETTINGS

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Set the fields from keywords and check them.

        Raises:
            InvalidInputError: A field doesn't exist, is of a wrong type or out of its range.
        """
        super().__init__(*given, **settings)
        adapter = adapter_of(self.vectorstore)
        check_search_settings(adapter, self.search_kwargs, type(self).model_fields)
        if self.bm25_index is not None and (adapter.is_hybrid or adapter.finds_words):
            raise InvalidInputError(f"{adapter.name} searches by words itself; leave out bm25_index")
        self.scope()
        check_binds(self.filter, *(self.search_kwargs.get(name) for name in adapter.filter_names))

    # Changing the caller's mapping, or a copy's, must not change what may be read.

    @field_validator("filter")
    @classmethod
    def _copy_filter(cls, given: Any) -> Any:
        return own_copy(given)

    @field_validator("search_kwargs")
    @classmethod
    def _copy_filters(cls, given: Mapping[str, Any], info: ValidationInfo) -> Mapping[str, Any]:
        store = info.data.get("vectorstore")
        return given if store is None else _with_own_filters(given, store)  # None if it was refused

    def __copy__(self) -> Self:
        """Copy the retriever with its filters; the store is shared."""
        copied = super().__copy__()
        copied.__dict__["filter"] = own_copy(self.filter)
        copied.__dict__["search_kwargs"] = _with_own_filters(self.search_kwargs, self.vectorstore)
        return copied

    def configurable_fields(self, **kwargs: AnyConfigurableField) -> RunnableSerializable[str, list[Document]]:
        """Let a run's configuration set fields, as LangChain does. It narrows the filters that are set here.

        Args:
            **kwargs: The fields that may be set: ``filter=ConfigurableField(id="filter")``.

        Raises:
            InvalidInputError: Both ``filter`` and ``search_kwargs`` may be set, so no filter would be left that binds.
        """
        fields = kwargs.keys() & {"filter", "search_kwargs"}
        scope = self.scope()
        if not fields or not scope.is_bound:
            return super().configurable_fields(**kwargs)
        if len(fields) > 1:
            raise InvalidInputError(
                "filter and search_kwargs can't both be configurable where a filter is set, as one of them has to keep "
                "it; make filter configurable"
            )
        bound = scope.filters[0] if len(scope.filters) == 1 else scope.filter
        others = {name: value for name, value in self.search_kwargs.items() if name not in scope.adapter.filter_names}
        # A run replaces the field that it sets, so the filters move to the other one.
        moved = (
            {"filter": None, "search_kwargs": {**others, scope.filter_name: bound}}
            if "filter" in fields
            else {"filter": bound, "search_kwargs": others}
        )
        return super(RetrieverSettings, self.model_copy(update=moved)).configurable_fields(**kwargs)

    def scope(self, filter: Any = None) -> Scope:
        """Return what may be read of the store, as the retriever's filter and another one limit it.

        Raises:
            InvalidInputError: The filters can't be combined.
        """
        filters = filter if isinstance(filter, _Filters) else (filter,)
        # `configurable_fields` has set a run's filter already.
        others = [each for each in filters if each is not self.filter]
        return scope_of(self.vectorstore, self.search_kwargs, self.filter, *others)

    def _request(self, query: str, settings: CallSettings) -> Request:
        _check_call_settings(settings, type(self).model_fields)
        given = {name: value for name, value in settings.items() if name != "filter" and not _is_left_out(name, value)}
        now = self._with_settings(given) if given else self
        scope = self.scope(settings.get("filter"))
        filters = scope.adapter.filter_names
        return Request(
            scope=scope,
            search=Search(
                checked_query(query),
                now.lexical_weight,
                now.ranking,
                {name: value for name, value in self.search_kwargs.items() if name not in filters},
                self.bm25_index,
                names=now.names,
                min_relevance=now.min_relevance,
            ),
            k=now.k,
            fetch_k=now.fetch_k,
            policy=read_expansion(now.window, now.window_key),
            max_tokens=now.max_tokens,
            count_tokens=checked_counter("count_tokens", now.count_tokens),
            order=now.order,
            min_score=now.min_score,
            name=self.name,
        )


def _check_call_settings(given: Mapping[str, Any], fields: Collection[str]) -> None:
    """Check that a call may give some settings.

    Args:
        given: The settings by name.
        fields: The names of all settings of the retriever.

    Raises:
        InvalidInputError: A setting doesn't exist, or can only be set on the retriever.
    """
    allowed = _OF_A_CALL
    unknown = sorted(given.keys() - allowed)
    if not unknown:
        return
    name, others = unknown[0], sorted(allowed - {"filter"})
    likely = likely_name(name, allowed, RELATED_NAMES)
    advice = f". Set {name} on the retriever" if name in fields else f". Did you mean {likely}?" if likely else ""
    raise InvalidInputError(
        f"a call can't set {listed(unknown)}; it can set filter, {', '.join(others)}{advice}",
    )


def _with_own_filters(search_kwargs: Mapping[str, Any], store: VectorStore) -> dict[str, Any]:
    filters = adapter_of(store).filter_names
    return {name: own_copy(value) if name in filters else value for name, value in search_kwargs.items()}
