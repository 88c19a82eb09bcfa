"""Combine the settings of a retriever, of a run's configuration and of a call into a `Request`."""

import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, RunnableSerializable, ensure_config
from langchain_core.runnables.utils import AnyConfigurableField
from langchain_core.vectorstores import VectorStore
from pydantic import ValidationInfo, field_validator

from langchain_sentence_window._checked_settings import likely_name
from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.matchers import own_copy
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope, check_binds, scope_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.ranking.questions import needs_of

from .request import Request, checked_query
from .settings import OF_CALL, RELATED_NAMES, SETTINGS, CallSettings, RetrieverSettings

_SET_BY_RETRIEVER = frozenset({"query", "k", "lexical_weight"})
"""Arguments of a store's search that the retriever sets itself."""

_OF_MMR = frozenset({"fetch_k", "lambda_mult"})
"""Arguments of LangChain's MMR search. A similarity search with ``**kwargs`` accepts and ignores them."""

_OWN_IF_NONE = frozenset(name for name, row in SETTINGS.items() if row.is_own_if_none)


def check_search_settings(adapter: StoreAdapter, settings: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Check that a store's search accepts the arguments in ``search_kwargs``.

    Args:
        adapter: The adapter of the store.
        settings: The arguments by name.
        fields: The retriever's own settings, one of which may be meant.

    Raises:
        InvalidInputError: One is the retriever's own, or the search doesn't accept it.
    """
    parameters = adapter.search_parameters()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for name, value in settings.items():
        problem = f"search_kwargs sets {shown(name)[1:-1]} to {shown(value)}"
        if name == "k":
            # It isn't used as the retriever's own k: LangChain's counts chunks, and this one windows.
            raise InvalidInputError(
                f"{problem}; set k={shown(value)} on the retriever for as many windows, or fetch_k={shown(value)} for "
                "as many sentences that are searched"
            )
        if name == "query":
            raise InvalidInputError(f"{problem}; give the query to invoke")
        is_accepted = name in parameters or (takes_any and name not in _OF_MMR)
        is_ours = name in SETTINGS and SETTINGS[name].is_ours
        if name in _SET_BY_RETRIEVER or (is_ours and name not in parameters):
            raise InvalidInputError(f"{problem}, which isn't a setting of the store; set {name} on the retriever")
        if not is_accepted:
            likely = likely_name(str(name), fields, RELATED_NAMES)
            cure = f"set {likely} on the retriever" if likely else "leave it out"
            others = [each for each in parameters if each not in _SET_BY_RETRIEVER]
            fault = "doesn't read it" if takes_any else f"takes only {listed(others)}"
            raise InvalidInputError(f"{problem}, and a search of {adapter.name} {fault}; {cure}")


def warn_of_related(names: Iterable[str], settings: Collection[str], whose: str) -> None:
    """Warn if a run's configuration has names that other libraries use for some settings, as they are ignored."""
    for name in sorted(names):
        likely = RELATED_NAMES.get(name)
        if likely in settings:
            warnings.warn(
                f"{whose} takes no {shown(name)} in its configuration, so it is ignored; did you mean {likely!r}?",
                SentenceWindowWarning,
                stacklevel=2,
            )


class _Filters(tuple[Any, ...]):
    """Filters that all apply."""

    __slots__ = ()


def with_configured(config: RunnableConfig | None, call: Mapping[str, Any]) -> dict[str, Any]:
    """Add the settings of a run's configuration to those of a call.

    The call's settings win, and filters of both apply. Other keys of the configuration are left to other parts of the
    program; in a run without a parent, one that looks like a setting causes a warning.

    Args:
        config: The configuration of the run; ``None`` for that of the enclosing run.
        call: The settings of the call.
    """
    run = ensure_config(config)
    configurable = run.get("configurable", {})
    configured = {name: value for name, value in configurable.items() if name in OF_CALL}
    if len(configured) < len(configurable) and getattr(run.get("callbacks"), "parent_run_id", None) is None:
        warn_of_related(configurable.keys() - OF_CALL, OF_CALL, "the retriever")
    both = [*configured.items(), *call.items()]
    settings = {name: value for name, value in both if value is not None or name not in _OWN_IF_NONE}
    filters = [each["filter"] for each in (call, configured) if each.get("filter") is not None]
    if filters:
        settings["filter"] = _Filters(filters)
    return settings


class QueryMethods(RetrieverSettings):
    """Makes requests, and the scope that they may read."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Set the fields from keywords and check them.

        Raises:
            InvalidInputError: A field doesn't exist, is of a wrong type or out of its range.
        """
        super().__init__(*given, **settings)
        adapter = adapter_of(self.vectorstore)
        check_search_settings(adapter, self.search_kwargs, type(self).model_fields)
        if self.bm25_index is not None and adapter.finds_words:
            raise InvalidInputError(f"{adapter.name} searches by words itself; leave out bm25_index")
        self.scope()
        check_binds(self.filter, self.search_kwargs.get(adapter.filter_name))

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
        if not fields or scope.filter is None:
            return super().configurable_fields(**kwargs)
        if len(fields) > 1:
            raise InvalidInputError(
                "filter and search_kwargs can't both be configurable if a filter is set, because one of them must "
                "keep it; make only filter configurable"
            )
        others = {name: value for name, value in self.search_kwargs.items() if name != scope.adapter.filter_name}
        # A run replaces the field that it sets, so the filters move to the other one.
        moved = (
            {"filter": None, "search_kwargs": {**others, scope.adapter.filter_name: scope.filter}}
            if "filter" in fields
            else {"filter": scope.filter, "search_kwargs": others}
        )
        return super(QueryMethods, self.model_copy(update=moved)).configurable_fields(**kwargs)

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
        _check_names(settings, type(self).model_fields)
        given = {name: value for name, value in settings.items() if name != "filter"}
        scope = self.scope(settings.get("filter"))
        # Again, as code written for LangChain's own retriever sets search_kwargs["k"] after construction.
        if self.search_kwargs:
            check_search_settings(scope.adapter, self.search_kwargs, type(self).model_fields)
        now = {name: getattr(self, name) for name, row in SETTINGS.items() if row.traced is not None}
        now |= self.checked_values(given)
        del now["filter"]  # which the scope has
        filter_name = scope.adapter.filter_name
        now["search_kwargs"] = {name: value for name, value in self.search_kwargs.items() if name != filter_name}
        text = checked_query(query)
        return Request(query=text, needs=needs_of(text), scope=scope, **now)


def _check_names(settings: Mapping[str, Any], fields: Collection[str]) -> None:
    """Check that a call may give some settings.

    Args:
        settings: The settings of a call by name.
        fields: The names of all settings of the retriever.

    Raises:
        InvalidInputError: One doesn't exist, or can only be set on the retriever.
    """
    unknown = sorted(settings.keys() - OF_CALL)
    if not unknown:
        return
    name, others = unknown[0], sorted(OF_CALL - {"filter"})
    likely = likely_name(name, OF_CALL, RELATED_NAMES)
    advice = f". Set {name} on the retriever" if name in fields else f". Did you mean {likely}?" if likely else ""
    raise InvalidInputError(f"a call can't set {listed(unknown)}; it can set filter, {', '.join(others)}{advice}")


def _with_own_filters(search_kwargs: Mapping[str, Any], store: VectorStore) -> dict[str, Any]:
    filter_name = adapter_of(store).filter_name
    return {name: own_copy(value) if name == filter_name else value for name, value in search_kwargs.items()}
