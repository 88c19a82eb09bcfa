"""Fixtures that several tests share."""

import gc
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from langchain_core.embeddings import Embeddings

from langchain_sentence_window.testing.material import either_way
from tests.forms import Invoke, in_forms
from tests.recorded import RecordedEmbeddings, read, real_model, write
from tests.toys import VOCABULARY, WordEmbeddings

RECORD = "--record"

# Threads of models and of FAISS that have no work sleep, also in processes that tests start. They would else turn in
# circles, and take the processors from what runs beside: asking a small model takes thirty times the work then.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# No test asks a model hub. Libraries read this when they are imported.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# The same examples at each run, so that a change is refused for what it changed. Other programs may slow the machine
# down, which says nothing about the code.
settings.register_profile("all", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Fewer of them, for `make test`.
settings.register_profile("test", settings.get_profile("all"), max_examples=10)
# Other examples at each run, for `make fuzz`.
settings.register_profile("fuzz", settings.get_profile("all"), derandomize=False, max_examples=500, print_blob=True)
settings.load_profile("test")


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Invoke:
    """A method in its sync or its async form, as in ``await way(retriever, "invoke", question)``."""
    return either_way(request.param)


@pytest.fixture
def words() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture(scope="session")
def minilm() -> Embeddings:
    """all-MiniLM-L6-v2, its real weights."""
    return real_model()


@pytest.fixture(scope="session")
def recorded(request: pytest.FixtureRequest) -> Iterator[Embeddings]:
    """The vectors of all-MiniLM-L6-v2, without the model."""
    if not request.config.getoption(RECORD):
        yield read()
        return
    embeddings = RecordedEmbeddings({}, real_model())
    yield embeddings
    write(embeddings.vectors)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(RECORD, action="store_true", help="write the vectors of texts of tests, see tests/recorded.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption(RECORD):
        items[:] = [item for item in items if "recorded" in fixtures_of(item)]
    items[:] = in_forms(items)
    for item in items:
        if not {"minilm", "tiny_model"}.isdisjoint(fixtures_of(item)):
            item.add_marker(pytest.mark.model)
        if item.name == "test_ten_thousand_sentences":  # of the suite for stores, which users run whole
            item.add_marker(pytest.mark.slow)


def pytest_collection() -> None:
    """Import and collect tests without a search for garbage, as there is little."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later searches."""
    gc.enable()
    gc.collect()
    gc.freeze()


def fixtures_of(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer with random weights, saved as a cross-encoder is."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder = tmp_path_factory.mktemp("cross-encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *VOCABULARY]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    shape: dict[str, Any] = {"vocab_size": len(words), "num_labels": 1, "num_attention_heads": 2}
    config = BertConfig(**sizes, **shape, initializer_range=1.0)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder
