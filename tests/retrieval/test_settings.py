"""The registry of settings: each row holds for calls, indexes, the command, forms, traces and the documentation."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from langchain_core.retrievers import BaseRetriever

from docs import settings_page
from langchain_sentence_window import IndexSettings, Ranking, SentenceWindowRetriever
from langchain_sentence_window.apps.cli.typed_values import check_settings
from langchain_sentence_window.apps.studio.setting_form import described, to_ask
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.settings import RELATED_NAMES, SETTINGS, CallSettings, RetrieverSettings
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


@pytest.mark.parametrize("method", ["_get_relevant_documents", "_aget_relevant_documents"])
def test_langchain_sees_what_a_call_may_give(method: str) -> None:
    (settings,) = [
        each
        for each in inspect.signature(getattr(SentenceWindowRetriever, method)).parameters.values()
        if each.kind is each.VAR_KEYWORD
    ]
    assert settings.annotation.__args__ == (CallSettings,)


def test_an_index_remembers_those_that_say_so() -> None:
    remembered = {name for name, row in SETTINGS.items() if row.is_remembered}
    assert rows_that(lambda name: IndexSettings(retriever={name: AS_JSON[name]})) == remembered


def test_the_command_takes_those_that_say_what_they_take() -> None:
    typed = {name for name, row in SETTINGS.items() if row.typed}
    assert rows_that(lambda name: check_settings({name: AS_JSON[name]}, is_remembered=True)) == typed
    of_call = {name for name in typed if SETTINGS[name].is_of_call}
    assert rows_that(lambda name: check_settings({name: AS_JSON[name]})) == of_call
    assert {name for name, row in SETTINGS.items() if row.option} <= of_call


def test_a_form_shows_those_that_say_how() -> None:
    fields = {each["name"]: each for each in described(RETRIEVER)["fields"]}
    assert list(fields) == [name for name, row in SETTINGS.items() if row.control]
    asked, given = to_ask(RETRIEVER, {name: each["default"] for name, each in fields.items()})
    assert asked.invoke("refund", **given) == RETRIEVER.invoke("refund")


def test_a_trace_shows_those_of_a_query() -> None:
    traced = {name for name, row in SETTINGS.items() if row.traced is not None}
    assert RETRIEVER.explain("refund").settings.keys() == traced
    assert {name for name, row in SETTINGS.items() if row.is_of_call} <= traced


def test_values_of_a_call_are_those_that_the_constructor_keeps() -> None:
    given = {"k": 3, "window": (1, 2), "names": ["author"], "ranking": Ranking({"early": 2}), "lexical_weight": 1}
    kept = RETRIEVER.model_copy(update=given)
    assert RETRIEVER.checked_values(given) == {name: getattr(kept, name) for name in given}


def test_the_page_of_settings_is_written_from_the_rows() -> None:
    page = settings_page.PAGE.read_text(encoding="utf-8")
    assert settings_page.with_tables(page) == page, "run python -m docs.settings_page"
    assert page.count(settings_page.HEAD) == 2


def test_rows_that_others_know_by_another_name_are_suggested() -> None:
    for other, name in RELATED_NAMES.items():
        with pytest.raises(InvalidInputError, match=f"did you mean '{name}'"):
            RETRIEVER.model_copy(update={other: Any})
