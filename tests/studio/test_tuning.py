"""Settings as the page describes, tries, writes down and keeps them."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from starlette.testclient import TestClient

from langchain_sentence_window import LateInteractionReranker, Ranking, SentenceWindowRetriever
from langchain_sentence_window.apps.studio.setting_form import FORM, described, to_ask
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.index_settings import read_index_settings, write_index_settings
from langchain_sentence_window.retrieval.settings import CallSettings
from tests.studio.making import ADDRESS, client_of, small_retriever
from tests.toys import WordEmbeddings, document

QUERY = "When is a refund refused?"


class First(BaseDocumentCompressor):
    """Keeps the first document."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return list(documents[:1])


def call(client: TestClient, path: str, status: int = 200, /, **given: Any) -> Any:
    answer = client.post(f"{ADDRESS}/api/{path}", json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def read(client: TestClient, path: str) -> Any:
    answer = client.get(f"{ADDRESS}/api/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def on_disk(tmp_path: Path) -> SentenceWindowRetriever:
    given = [document("A refund is quick. It takes days.", "terms", source="terms.md", year=2025, tags=["a", "b"])]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=tmp_path / "index")


@pytest.fixture(scope="module")
def real(minilm: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> SentenceWindowRetriever:
    """An index on disk, made with an embedder that a program can load."""
    text = "# Refunds\n\nA refund takes five days. It is refused after a year. It's paid.\n\n# Cards\n\nCards expire."
    folder = tmp_path_factory.mktemp("real") / "in'dex"
    return SentenceWindowRetriever.from_documents([document(text, "terms")], minilm, path=folder)


# What a form is told


def test_every_setting_of_a_call_has_a_field() -> None:
    names = CallSettings.__annotations__.keys() - {"count_tokens", "window_key"} | {"reranker"}
    assert FORM.keys() == names
    found = read(client_of(small_retriever(k=7, window=(1, 2))), "settings")
    by_name = {each["name"]: each for each in found["fields"]}
    assert by_name["k"] | {"help": ""} == by_name["k"] | {
        "kind": "count",
        "default": 7,
        "min": 1,
        "max": 500,
        "help": "",
    }
    assert by_name["window"]["default"] == [1, 2]
    assert by_name["reranker"]["choices"] == ["none"]
    assert by_name["max_tokens"]["is_optional"]
    assert all(each["help"].endswith(".") and each["label"] for each in found["fields"])
    assert {each["name"] for each in found["signals"]} == set(SIGNALS)
    assert {each["name"]: each["weight"] for each in found["signals"] if each["weight"]} == dict(
        DEFAULT_RANKING.weights
    )


def test_defaults_are_the_retrievers_own_and_can_be_asked_with() -> None:
    for settings in (
        {},
        {"ranking": Ranking({"dense_rank": 2}), "names": ["source"], "order": "edges", "max_tokens": 90},
    ):
        retriever = small_retriever(**{"ranking": DEFAULT_RANKING, **settings})
        fields = described(retriever)["fields"]
        defaults = json.loads(json.dumps({each["name"]: each["default"] for each in fields}))
        asked, given = to_ask(retriever, defaults)
        assert asked.invoke("refund card", **given) == retriever.invoke("refund card")


def test_the_filter_of_the_retriever_isnt_told() -> None:
    found = read(client_of(small_retriever().model_copy(update={"filter": {"doc_id": "terms"}})), "settings")
    assert "terms" not in json.dumps(found)


@pytest.mark.parametrize("name", ["k", "fetch_k", "max_tokens", "window"])
def test_limits_are_those_that_a_form_is_told(name: str) -> None:
    client = client_of(small_retriever())
    most = next(each["max"] for each in read(client, "settings")["fields"] if each["name"] == name)
    assert most == {"k": 500, "fetch_k": 10_000, "max_tokens": 1_000_000, "window": 1_000}[name]
    call(client, "ask", query="refund", settings={name: most})
    assert name in call(client, "ask", 400, query="refund", settings={name: most + 1})["error"]["message"]


def test_keys_of_the_documents_come_with_values_that_a_filter_finds(on_disk: SentenceWindowRetriever) -> None:
    client = client_of(on_disk)
    keys = {each["name"]: each for each in read(client, "filter-keys")["keys"]}
    assert keys["year"] == {"name": "year", "documents": 1, "values": [2025]}
    assert keys["tags"]["values"] == ["a", "b"]
    for key, each in keys.items():
        for value in each["values"]:
            assert call(client, "ask", query="refund", settings={"filter": {key: value}})["windows"], (key, value)


def test_keys_stay_few_and_short_and_within_the_filter() -> None:
    given = [document("A refund.", f"d{i}", n=i, long="x" * 500, **{f"k{i}": 1}) for i in range(150)]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings())
    keys = read(client_of(retriever.model_copy(update={"filter": {"n": {"$gte": 10}}})), "filter-keys")["keys"]
    assert len(keys) == 100
    by_name = {each["name"]: each for each in keys}
    assert (len(by_name["n"]["values"]), by_name["long"]["values"]) == (12, [])
    assert "k3" not in by_name
    assert 3 not in by_name["n"]["values"]


# Asking with settings


def test_a_page_can_leave_out_the_reranker_and_take_late_interaction(real: SentenceWindowRetriever) -> None:
    own = real.model_copy(update={"reranker": First()})
    client = client_of(own)
    field = next(each for each in read(client, "settings")["fields"] if each["name"] == "reranker")
    assert (field["choices"], field["default"]) == (["none", "own", "late interaction"], "own")
    counts = [
        len(call(client, "ask", query=QUERY, settings={"reranker": each})["windows"]) for each in field["choices"]
    ]
    assert (counts[0] > 1, counts[1], counts[2] > 1) == (True, 1, True)
    late = call(client, "ask", query=QUERY, settings={"reranker": "late interaction"})["windows"]
    expected = real.model_copy(update={"reranker": LateInteractionReranker(model=real.vectorstore.embeddings)})
    assert [each["text"] for each in late] == [each.page_content for each in expected.invoke(QUERY)]
    assert all("relevance_score" in each for each in late)
    assert own.reranker == First()


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"reranker": "late interaction"}, "'none'"),
        ({"reranker": True}, "'none'"),
        ({"ranking": "/etc/passwd"}, "'default'"),
        ({"ranking": {"nothing": 1}}, "isn't the name of a signal"),
        ({"ranking": {"dense_rank": "x"}}, "dense_rank"),
        ({"count_tokens": "len"}, "count_tokens"),
        ({"vectorstore": 1}, "vectorstore"),
        ({"k": 0}, "k"),
        ({"window": {"a": 5_000}}, "window"),
        ({"filter": {"a": {"$no": 1}}}, "$no"),
    ],
)
def test_wrong_settings_are_refused_by_each_call(settings: dict[str, Any], part: str) -> None:
    client = client_of(small_retriever())
    for path in ("ask", "explain"):
        error = call(client, path, 400, query="refund", settings=settings)["error"]
        assert error["type"] in ("InvalidInputError", "FilterError")
        assert part in error["message"]


# The call in Python


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"k": 2, "window": [1, 2], "order": "document", "filter": {"doc_id": "terms"}},
        {"ranking": {"dense_rank": 1, "coverage": 0.5}, "reranker": "late interaction", "max_tokens": 60},
        {"ranking": None, "names": False, "window": {"x": 2}, "min_relevance": None, "min_score": 0.01, "fetch_k": 9},
    ],
)
@pytest.mark.parametrize("query", [QUERY, "it's a \"refund\"\n'''\\ \N{GRINNING FACE}"])
def test_the_call_in_python_returns_what_the_page_shows(
    real: SentenceWindowRetriever, settings: dict[str, Any], query: str
) -> None:
    client = client_of(real)
    text = call(client, "program", query=query, settings=settings)["program"]
    names = {"retriever": real.model_copy(), "Ranking": Ranking, "LateInteractionReranker": LateInteractionReranker}
    exec(compile(text, "program", "exec"), names)  # noqa: S102 - it is what the page hands out
    shown = call(client, "ask", query=query, settings=settings)["windows"]
    windows: Any = names["windows"]
    assert [each["text"] for each in shown] == [each.page_content for each in windows]
    assert shown


# The default


def keep(client: TestClient, **settings: Any) -> Any:
    """Look at what would change, and confirm it."""
    shown = call(client, "settings/changes", settings=settings)
    return shown, call(client, "settings/default", settings=settings, version=shown["version"])["version"]


def test_settings_become_the_default_of_the_index_and_of_the_page(on_disk: SentenceWindowRetriever) -> None:
    folder = on_disk.vectorstore.folder  # type: ignore[attr-defined]
    client = client_of(on_disk)
    assert read(client, "settings")["can_keep"]
    given = {"k": 3, "window": [0, 2], "ranking": {"dense_rank": 1}, "filter": {"year": 2025}, "reranker": "none"}
    shown = call(client, "settings/changes", settings=given)
    assert (shown["file"], shown["left_out"]) == (str(folder / "settings.json"), ["filter", "reranker"])
    assert {each["name"]: (each["before"], each["after"]) for each in shown["changes"]} == {
        "k": (10, 3),
        "window": ("auto", [0, 2]),
        "ranking": ("default", {"dense_rank": 1}),
    }
    assert not (folder / "settings.json").exists()  # it was only looked at
    keep(client, **given)
    assert dict(read_index_settings(folder).retriever) == {"k": 3, "window": [0, 2], "ranking": {"dense_rank": 1}}
    opened = SentenceWindowRetriever.open(folder, WordEmbeddings())
    assert (opened.k, opened.window, opened.ranking) == (3, (0, 2), Ranking({"dense_rank": 1}))
    defaults = {each["name"]: each["default"] for each in read(client, "settings")["fields"]}
    assert (defaults["k"], defaults["window"], defaults["ranking"]) == (3, [0, 2], {"dense_rank": 1})
    assert on_disk.k == 10, "what was handed in stays"
    keep(client, ranking="default", k=4)
    opened = SentenceWindowRetriever.open(folder, WordEmbeddings())
    assert (opened.k, opened.window, opened.ranking) == (4, (0, 2), DEFAULT_RANKING)
    keep(client, ranking=None)
    assert SentenceWindowRetriever.open(folder, WordEmbeddings()).ranking is None


def test_a_default_is_taken_back_with_the_values_that_were_there(on_disk: SentenceWindowRetriever) -> None:
    folder = on_disk.vectorstore.folder  # type: ignore[attr-defined]
    client = client_of(on_disk)
    _, first = keep(client, k=3, ranking={"dense_rank": 1})
    _, second = keep(client, k=4, ranking={"dense_rank": 2})
    call(client, "settings/undo", 409, version=first)
    call(client, "settings/undo", version=second)
    opened = SentenceWindowRetriever.open(folder, WordEmbeddings())
    assert (opened.k, opened.ranking) == (3, Ranking({"dense_rank": 1}))
    fields = {each["name"]: each["default"] for each in read(client, "settings")["fields"]}
    assert (fields["k"], fields["ranking"]) == (3, {"dense_rank": 1})
    call(client, "settings/undo", version=first)
    assert dict(read_index_settings(folder).retriever) == {}
    call(client, "settings/undo", 409, version=first)


def test_a_default_that_another_program_changed_meanwhile_is_not_overwritten(on_disk: SentenceWindowRetriever) -> None:
    folder = on_disk.vectorstore.folder  # type: ignore[attr-defined]
    client = client_of(on_disk)
    shown, version = keep(client, k=3)
    write_index_settings(folder, replace(read_index_settings(folder), retriever={"k": 8}))
    for path, given in (("default", {"settings": {"k": 5}, "version": shown["version"]}), ("undo", {})):
        told = call(client, f"settings/{path}", 409, **{"version": version, **given})["error"]["message"]
        assert "another program changed settings.json" in told
    assert dict(read_index_settings(folder).retriever) == {"k": 8}


def test_settings_of_an_index_in_memory_hold_until_the_program_ends() -> None:
    retriever = small_retriever()
    client = client_of(retriever)
    shown, version = keep(client, k=3)
    assert shown["file"] is None
    assert client.app.state.studio.retriever.k == 3  # type: ignore[attr-defined]
    call(client, "settings/undo", version=version)
    assert client.app.state.studio.retriever is retriever  # type: ignore[attr-defined]


def test_a_default_that_cant_be_kept_is_refused_and_changes_nothing(
    on_disk: SentenceWindowRetriever, caplog: pytest.LogCaptureFixture
) -> None:
    folder = on_disk.vectorstore.folder  # type: ignore[attr-defined]
    client = client_of(on_disk)
    version = call(client, "settings/changes", settings={})["version"]
    with caplog.at_level(logging.ERROR):
        for settings in ({"k": 0}, {"ranking": "../../x.json"}, {"order": "no"}, {"window": "x"}, {"vectorstore": 1}):
            call(client, "settings/changes", 400, settings=settings)
            call(client, "settings/default", 400, settings=settings, version=version)
    assert not caplog.records
    call(client, "settings/default", 400, settings={"k": 3})  # nobody has looked at it
    locked = client_of(on_disk, read_only=True)
    assert not read(locked, "settings")["can_keep"]
    call(locked, "settings/default", 403, settings={"k": 3}, version=version)
    assert not (folder / "settings.json").exists()


def test_a_form_offers_the_number_that_the_retriever_has(words: WordEmbeddings) -> None:
    for own, offered in ((None, [None, "auto"]), (0.2, [None, "auto", 0.2])):
        retriever = SentenceWindowRetriever.from_documents([document("A refund.")], words, min_relevance=own)
        (field,) = [each for each in described(retriever)["fields"] if each["name"] == "min_relevance"]
        assert (field["default"], list(field["choices"])) == (own, offered)
