"""Settings as a form shows them, and as the default of an index."""

from pathlib import Path

import pytest

from app.tests.studio.making import call, client_of, read, refusal, small_retriever
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.stores import IndexSettings, read_index_settings, write_index_settings
from tests.toys import BY_COSINE, WordEmbeddings, document


@pytest.fixture
def on_disk(tmp_path: Path) -> SentenceWindowRetriever:
    given = [document("A refund is quick. It takes days.", "terms", source="terms.md")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=tmp_path / "index", **BY_COSINE)


def test_a_form_has_the_settings_of_the_retriever() -> None:
    retriever = small_retriever(k=7, window=(1, 2), min_relevance=0.25)
    retriever = retriever.model_copy(update={"filter": {"doc_id": "terms"}})
    client = client_of(retriever)
    fields = {each["name"]: each for each in read(client, "settings")["fields"]}
    assert fields["k"]["default"] == 7
    assert (fields["k"]["kind"], fields["k"]["min"], fields["k"]["max"]) == ("count", 1, 500)
    assert fields["window"]["default"] == [1, 2]
    assert fields["filter"]["default"] is None  # the retriever's own isn't shown
    assert fields["min_relevance"]["choices"] == [None, "auto", 0.25]
    assert fields["max_tokens"]["is_optional"]
    assert not fields["k"]["is_optional"]
    defaults = {name: field["default"] for name, field in fields.items()}
    windows = call(client, "ask", query="refund", settings=defaults)["windows"]
    assert windows == call(client, "ask", query="refund")["windows"]


def test_settings_become_the_default_after_they_were_shown(on_disk: SentenceWindowRetriever, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    write_index_settings(folder, IndexSettings(sources=("/data",), retriever={"order": "edges"}))
    client = client_of(on_disk)
    wanted = {"k": 3, "window": [1, 2], "filter": {"doc_id": "terms"}, "ranking": {"early": 2.0}, "names": True}
    changes = call(client, "settings/changes", settings=wanted)
    assert changes["folder"] == str(folder)
    assert [(each["name"], each["after"]) for each in changes["changes"]] == [
        ("k", 3),
        ("window", [1, 2]),
        ("ranking", {"early": 2.0}),
    ]
    assert changes["left_out"] == ["filter"]
    assert read_index_settings(folder).retriever == {"order": "edges"}  # nothing was written yet
    call(client, "settings/default", settings=wanted)
    kept = read_index_settings(folder)
    assert kept.sources == ("/data",)
    assert dict(kept.retriever) == {
        "order": "edges",
        "k": 3,
        "window": [1, 2],
        "ranking": {"early": 2.0},
        "names": True,
    }
    fields = {each["name"]: each["default"] for each in read(client, "settings")["fields"]}
    assert (fields["k"], fields["window"], fields["ranking"]) == (3, [1, 2], {"early": 2.0})
    assert SentenceWindowRetriever.open(folder, WordEmbeddings()).window == (1, 2)
    call(client, "settings/default", settings={"ranking": None, "max_tokens": None})
    assert read_index_settings(folder).retriever["ranking"] is None


def test_settings_of_an_index_in_memory_hold_until_the_program_ends() -> None:
    client = client_of(small_retriever())
    assert call(client, "settings/changes", settings={"k": 1})["folder"] is None
    call(client, "settings/default", settings={"k": 1})
    assert len(call(client, "ask", query="refund card")["windows"]) == 1


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": 501}, {"order": "random"}, {"splitter": 1}, {"window": "wide"}])
def test_settings_that_cannot_be_kept_change_nothing(
    on_disk: SentenceWindowRetriever, tmp_path: Path, settings: dict[str, object]
) -> None:
    client = client_of(on_disk)
    for path in ("settings/changes", "settings/default"):
        assert next(iter(settings)) in refusal(client, path, 400, settings=settings)
        assert "read-only" in refusal(client_of(on_disk, read_only=True), path, 403, settings={"k": 3})
    assert dict(read_index_settings(tmp_path / "index").retriever) == {}
    assert read(client, "settings")["can_keep"]
    assert not read(client_of(on_disk, read_only=True), "settings")["can_keep"]
