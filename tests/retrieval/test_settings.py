"""The registry of settings: each row holds for calls, indexes, the command, forms, traces and the documentation."""

from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from langchain_core.retrievers import BaseRetriever

from docs import settings_page
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.settings import RELATED_NAMES, SETTINGS, CallSettings, RetrieverSettings
from langchain_sentence_window.stores import IndexSettings
from tests.toys import WordEmbeddings, document

RETRIEVER = SentenceWindowRetriever.from_documents([document("A refund is quick. It takes days.")], WordEmbeddings())
OWN = {name: getattr(RETRIEVER, name) for name in SETTINGS}
AS_JSON = {**OWN, "ranking": None, "vectorstore": None, "splitter": None, "reranker": None, "search_kwargs": {"a": 1}}


def rows_that(is_done: Callable[[str], object]) -> set[str]:
    """The settings with which something can be done."""

    def can(name: str) -> bool:
        try:
            is_done(name)
        except InvalidInputError:
            return False
        return True

    return {name for name in SETTINGS if can(name)}


def test_each_field_is_a_row_that_says_what_it_means() -> None:
    assert SETTINGS.keys() == SentenceWindowRetriever.model_fields.keys() - BaseRetriever.model_fields.keys()
    assert settings_page.meanings().keys() == SETTINGS.keys()
    assert not SETTINGS.keys() & RELATED_NAMES.keys()


def test_a_call_may_give_those_that_say_so() -> None:
    of_call = {name for name, row in SETTINGS.items() if row.is_of_call}
    assert rows_that(lambda name: RETRIEVER.invoke("refund", **{name: OWN[name]})) == of_call
    assert CallSettings.__annotations__.keys() == of_call
    types, in_call = get_type_hints(RetrieverSettings), get_type_hints(CallSettings)
    for name in of_call:
        own = types[name]
        assert in_call[name] == (own | None if SETTINGS[name].is_own_if_none else own), name


def test_an_index_remembers_those_that_say_so() -> None:
    remembered = {name for name, row in SETTINGS.items() if row.is_remembered}
    assert rows_that(lambda name: IndexSettings(retriever={name: AS_JSON[name]})) == remembered


def test_a_trace_shows_those_of_a_query() -> None:
    traced = {name for name, row in SETTINGS.items() if row.traced is not None}
    assert RETRIEVER.explain("refund").settings.keys() == traced
    assert {name for name, row in SETTINGS.items() if row.is_of_call} <= traced


def test_the_page_of_settings_is_written_from_the_rows() -> None:
    page = settings_page.PAGE.read_text(encoding="utf-8")
    assert settings_page.with_tables(page) == page, "run python -m docs.settings_page"
    assert page.count(settings_page.HEAD) == 2


def test_rows_that_others_know_by_another_name_are_suggested() -> None:
    for other, name in RELATED_NAMES.items():
        with pytest.raises(InvalidInputError, match=f"did you mean '{name}'"):
            RETRIEVER.model_copy(update={other: Any})
