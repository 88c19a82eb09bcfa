import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from langchain_sentence_window.retrieval.index_settings import (
    MAX_BYTES,
    IndexSettings,
    read_index_settings,
    write_index_settings,
)
from langchain_sentence_window.retrieval.settings import REMEMBERED, RetrieverSettings

EVERY_SETTING: dict[str, Any] = {
    "k": 3,
    "fetch_k": 40,
    "window": {"legal": (3, 5), "faq": "auto", "other": 1},
    "window_key": "kind",
    "lexical_weight": 0.5,
    "ranking": {"coverage": 0.5, "contents": -4.0},
    "names": ("customer", "product"),
    "min_relevance": "auto",
    "max_tokens": 1_500,
    "order": "document",
    "min_score": 0.2,
    "embed_headings": False,
}


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert read_index_settings(tmp_path) == IndexSettings()
    assert read_index_settings(tmp_path / "missing") == IndexSettings()


def test_settings_are_read_as_written(tmp_path: Path) -> None:
    assert EVERY_SETTING.keys() == REMEMBERED <= RetrieverSettings.model_fields.keys()
    settings = IndexSettings(embedding="minilm", sources=("/docs/a", "/docs/ü"), retriever=EVERY_SETTING)
    write_index_settings(tmp_path, settings)
    assert read_index_settings(tmp_path) == settings
    assert settings.retriever["window"] == {"legal": [3, 5], "faq": "auto", "other": 1}
    assert len((tmp_path / "settings.json").read_text(encoding="ascii").splitlines()) > 20  # for readers


def test_settings_are_their_own() -> None:
    window = {"legal": [3, 5]}
    settings = IndexSettings(retriever={"window": window})
    window["legal"].append(7)
    with pytest.raises(TypeError):
        settings.retriever["k"] = 3  # type: ignore[index]
    assert settings.retriever == {"window": {"legal": [3, 5]}}


def test_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    settings = IndexSettings(sources=(os.fsdecode(b"/docs/\xff.txt"),))
    write_index_settings(tmp_path, settings)
    assert read_index_settings(tmp_path) == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"embedding": ""}, "embedding is ''"),
        ({"embedding": "openai:x?api_key=abcdefgh12345678"}, "looks like a secret"),
        ({"sources": "/docs/a"}, "sources has '/docs/a'; it must be a list"),
        ({"sources": ["a"]}, "sources has 'a'; it must be a list of absolute paths"),
        ({"sources": ["/a\0b"]}, "absolute paths"),
        ({"retriever": [1]}, r"retriever is \[1\]"),
        ({"retriever": {"filter": {"tenant": "a"}}}, "retriever sets 'filter', which an index can't remember"),
        ({"retriever": {"api_key": "x"}}, "'api_key'"),
        ({"retriever": {3: 4}}, "sets '3'"),
        ({"retriever": {"k": 0}}, "k is 0"),
        ({"retriever": {"window": -1}}, "window is -1"),
        ({"retriever": {"window": {3: 4}}}, "can't be stored as JSON"),
        ({"retriever": {"window": {"a": object()}}}, "window is an object"),
        ({"retriever": {"min_score": float("nan")}}, "min_score is nan"),
        ({"retriever": {"ranking": {"cosine": 1}}}, "'cosine' isn't the name of a signal; give names of dense_rank"),
        ({"retriever": {"order": "best"}}, "order: Input should be .*, not 'best'"),
    ],
)
def test_values_that_cannot_be_remembered(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        IndexSettings(**given)
    try:
        text = json.dumps(given)
    except TypeError:
        return
    if json.loads(text) != given or given.get("retriever") == {"api_key": "x"}:
        return  # JSON can't hold it, or it is no setting that this version knows
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(StoreError, match=r"settings.json' can't be used: .*; correct it, or delete it"):
        read_index_settings(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "isn't JSON"),
        (b"{", "isn't JSON"),
        (b"[" * 200_000, "nests too deeply"),
        (b'{"retriever": {"window": ' + b"[" * 500 + b"]" * 500 + b"}}", "window is "),
        (b'{"retriever": {"min_score": NaN}}', "NaN isn't a JSON number"),
        (b"[]", r"it holds \[\]"),
        (b'{"embeding": "minilm"}', "it sets 'embeding'; it can set embedding"),
        (b" " * (MAX_BYTES + 1), "more than 8,000,000 bytes"),
    ],
)
def test_damaged_files(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(StoreError, match=f"settings.json' can't be used: .*{message}.*; correct it, or delete it"):
        read_index_settings(tmp_path)


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(StoreError, match="can't be read"):
        read_index_settings(tmp_path)
    with pytest.raises(StoreError, match="can't be written"):
        write_index_settings(tmp_path, IndexSettings())


def test_link_is_replaced_not_written_through(tmp_path: Path) -> None:
    target, folder = tmp_path / "other.json", tmp_path / "index"
    target.write_text("{}")
    folder.mkdir()
    (folder / "settings.json").symlink_to(target)
    write_index_settings(folder, IndexSettings(embedding="minilm"))
    assert target.read_text() == "{}"
    assert read_index_settings(folder).embedding == "minilm"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_index_settings(tmp_path, IndexSettings(embedding="minilm"))
    too_many = IndexSettings(sources=tuple(f"/{i:0100}" for i in range(100_000)))
    with pytest.raises(InvalidInputError, match="name folders as sources"):
        write_index_settings(tmp_path, too_many)
    with pytest.raises(InvalidInputError, match="settings is "):
        write_index_settings(tmp_path, {"embedding": "x"})  # type: ignore[arg-type]
    assert read_index_settings(tmp_path).embedding == "minilm"
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_json_does_more_than_raise(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    folder = tmp_path_factory.mktemp("index")
    for content in (value, {"retriever": value}, {"sources": value}, {"retriever": dict.fromkeys(REMEMBERED, value)}):
        (folder / "settings.json").write_text(json.dumps(content))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SentenceWindowWarning)
            try:
                settings = read_index_settings(folder)
            except StoreError:
                continue
            write_index_settings(folder, settings)
            assert read_index_settings(folder) == settings
