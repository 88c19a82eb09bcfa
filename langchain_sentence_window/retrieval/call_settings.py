"""From the settings of a retriever and those of a call to a request."""

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

from .request import Request, checked_query
from .settings import OF_CALL, RELATED_NAMES, SETTINGS, CallSettings, RetrieverSettings

_GIVEN = frozenset({"query", "k", "lexical_weight"})
"""Arguments of a search that the retriever gives."""

_OF_MMR = frozenset({"fetch_k", "lambda_mult"})
"""Arguments of LangChain's search for varied results. A search by similarity reads them only if it names them."""

_OWN = frozenset(name for name, row in SETTINGS.items() if row.is_own_if_none)
"""The settings for which ``None`` in a call stands for the retriever's own."""


def check_search_settings(adapter: StoreAdapter, settings: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Check that a store's search takes some settings.

    Args:
        adapter: The adapter of the store.
        settings: Further arguments of its search.
        fields: The retriever's own settings, one of which may be meant.

    Raises:
        InvalidInputError: One is the retriever's own, or one that the search doesn't take.
    """
    taken = adapter.search_parameters()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    usual = [each for each in taken if each not in _GIVEN and taken[each].kind is not taken[each].VAR_KEYWORD]
    for setting in settings:
        told = f"search_kwargs sets {shown(setting)[1:-1]} to {shown(settings[setting])}"
        if setting == "k":
            # It isn't taken for the retriever's own k: LangChain's counts chunks, and this one windows.
            value = shown(settings[setting])
            raise InvalidInputError(
                f"{told}; set k={value} on the retriever for as many windows, or fetch_k={value} for as many sentences "
                "that are searched"
            )
        if setting == "query":
            raise InvalidInputError(f"{told}; give the query to invoke")
        if setting in SETTINGS and SETTINGS[setting].is_ours and (setting not in taken or setting in _GIVEN):
            raise InvalidInputError(f"{told}, which isn't a setting of the store; set {setting} on the retriever")
        if setting not in taken and (not takes_any or setting in _OF_MMR):
            likely = likely_name(str(setting), fields, RELATED_NAMES)
            cure = f"set {likely} on the retriever" if likely else "leave it out"
            fault = "doesn't read it" if takes_any else f"takes only {listed(usual)}"
            raise InvalidInputError(f"{told}, and a search of {adapter.name} {fault}; {cure}")


def warn_of_related(given: Iterable[str], settings: Collection[str], whose: str) -> None:
    """Warn of names in a run's configuration that other retrievers use for some settings, as they are ignored."""
    for name in sorted(given):
        meant = RELATED_NAMES.get(name)
        if meant in settings:
            warnings.warn(
                f"{whose} takes no {shown(name)} in its configuration, so it is ignored; did you mean {meant!r}?",
                SentenceWindowWarning,
                stacklevel=2,
            )


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
    configurable = run.get("configurable", {})
    configured = {name: value for name, value in configurable.items() if name in OF_CALL}
    if len(configured) < len(configurable) and getattr(run.get("callbacks"), "parent_run_id", None) is None:
        warn_of_related(configurable.keys() - OF_CALL, OF_CALL, "the retriever")
    both = [*configured.items(), *given.items()]
    settings = {name: value for name, value in both if value is not None or name not in _OWN}
    own, bound = given.get("filter"), configured.get("filter")
    if bound is not None:
        filters = own if isinstance(own, _Filters) else _Filters([] if own is None else [own])
        settings["filter"] = filters if any(each is bound for each in filters) else _Filters([*filters, bound])
    return settings


class QueryMethods(RetrieverSettings):
    """Make of a retriever's settings its scope, and the request of a call."""

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
        if not settings.keys() <= OF_CALL:
            raise _not_of_call(settings, type(self).model_fields)
        given = {name: value for name, value in settings.items() if name != "filter"}
        scope = self.scope(settings.get("filter"))
        # Again, as code that was written for another retriever sets search_kwargs["k"] on one that is made already.
        if self.search_kwargs:
            check_search_settings(scope.adapter, self.search_kwargs, type(self).model_fields)
        now = {name: getattr(self, name) for name, row in SETTINGS.items() if row.traced is not None}
        now |= self.checked_values(given)
        del now["filter"]  # which the scope has
        filter_name = scope.adapter.filter_name
        now["search_kwargs"] = {name: value for name, value in self.search_kwargs.items() if name != filter_name}
        return Request(query=checked_query(query), scope=scope, name=self.name, **now)


def _not_of_call(given: Mapping[str, Any], fields: Collection[str]) -> InvalidInputError:
    """Return the error about settings that don't exist, or can only be set on the retriever.

    Args:
        given: The settings of a call by name.
        fields: The names of all settings of the retriever.
    """
    unknown = sorted(given.keys() - OF_CALL)
    name, others = unknown[0], sorted(OF_CALL - {"filter"})
    likely = likely_name(name, OF_CALL, RELATED_NAMES)
    advice = f". Set {name} on the retriever" if name in fields else f". Did you mean {likely}?" if likely else ""
    return InvalidInputError(
        f"a call can't set {listed(unknown)}; it can set filter, {', '.join(others)}{advice}",
    )


def _with_own_filters(search_kwargs: Mapping[str, Any], store: VectorStore) -> dict[str, Any]:
    filter_name = adapter_of(store).filter_name
    return {name: own_copy(value) if name == filter_name else value for name, value in search_kwargs.items()}
