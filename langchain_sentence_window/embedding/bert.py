"""all-MiniLM-L6-v2, a BERT model, in NumPy, as loading PyTorch for a single question takes seconds.

The forward pass is that of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019, with the mean
of all tokens as the text's vector (Reimers & Gurevych, "Sentence-BERT", 2019). Its vectors differ from those of PyTorch
by rounding.

All of it runs in the calling thread. For a large product, NumPy's BLAS wakes other threads, which then spin while they
wait for the next one. On a busy machine this costs many times as much as the product. The number of threads is a
setting of the whole process, so products are kept below the size at which BLAS uses them.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._primitives import Vectors

FEW_TEXTS = 32
"""Texts that NumPy embeds at once. With more of them, PyTorch is faster, as it uses all threads or a GPU."""

_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_MAX_PRODUCT = 2**18
"""Multiplications in the largest matrix product that OpenBLAS, the BLAS of NumPy, computes in one thread."""


class BertEmbeddings(Embeddings):
    """Embeds a few texts with NumPy, and many with PyTorch if it is installed."""

    def __init__(self, folder: Path, load: Callable[[], Embeddings] | None) -> None:
        """Load the model's weights.

        Args:
            folder: Holds all-MiniLM-L6-v2, or another BERT in single precision with ``gelu`` and mean pooling.
            load: Loads the same model with PyTorch, when many texts are first embedded. ``None`` to embed all with
                NumPy.
        """
        self.model_name = str(folder)
        self._load = load and cache(load)
        self._model = _Bert(folder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts, with NumPy if they are at most `FEW_TEXTS`."""
        if self._load is not None and len(texts) > FEW_TEXTS:
            return self._load().embed_documents(texts)
        parts = [texts[start : start + FEW_TEXTS] for start in range(0, len(texts), FEW_TEXTS)]
        return [vector for part in parts for vector in self._model.embed(part).tolist()]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question with NumPy."""
        return self.embed_documents([text])[0]

    def library(self) -> Embeddings | None:
        """Return the same model in PyTorch; ``None`` if that isn't installed."""
        return self._load and self._load()


class _Bert:
    """The weights and the tokenizer of a model."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._weights = load_file(folder / _WEIGHTS)
        self._config = _read_json_file(folder / "config.json")
        layers = [
            name.removesuffix(".weight")
            for name, weight in self._weights.items()
            if name.startswith("encoder.") and weight.ndim == 2  # noqa: PLR2004
        ]
        self._linear = {
            name: _Linear(self._weights.pop(f"{name}.weight"), self._weights.pop(f"{name}.bias")) for name in layers
        }
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.enable_truncation(_read_json_file(folder / "sentence_bert_config.json")["max_seq_length"])
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape ``(texts, dimension)``."""
        # Singly, as the tokenizer starts threads for a batch.
        read = [self._tokenizer.encode(text).ids for text in texts]
        ends = np.cumsum([0, *map(len, read)])
        tokens = self._forward(read, ends)
        sums = np.stack([tokens[start:end].sum(axis=0) for start, end in pairwise(ends)])
        return cast("Vectors", sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def _forward(self, texts: Sequence[Sequence[int]], ends: npt.NDArray[np.int64]) -> Vectors:
        """Return the last layer's vectors of the tokens of all texts, shape ``(tokens, dimension)``."""
        words = self._of("embeddings.word_embeddings")[np.concatenate(texts)]
        places = self._of("embeddings.position_embeddings")[np.concatenate([range(len(ids)) for ids in texts])]
        embedded = words + self._of("embeddings.token_type_embeddings")[0] + places
        hidden = self._normed(embedded, "embeddings.LayerNorm")
        for layer in range(self._config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            read = [self._linear[f"{at}.attention.self.{name}"](hidden) for name in ("query", "key", "value")]
            attended = [self._attended(*(each[start:end] for each in read)) for start, end in pairwise(ends)]
            hidden = self._added(hidden, np.concatenate(attended), f"{at}.attention.output")
            hidden = self._added(hidden, _gelu(self._linear[f"{at}.intermediate.dense"](hidden)), f"{at}.output")
        return hidden

    def _attended(self, *read: Vectors) -> Vectors:
        """Return the attention of each token of a text, by the query, key and value of each."""
        heads = self._config["num_attention_heads"]
        query, key, value = (each.reshape(len(each), heads, -1).transpose(1, 0, 2) for each in read)
        count, size = query.shape[1:]
        attended = list[Vectors]()
        for part in np.array_split(query, -(-count * count * size // _MAX_PRODUCT), axis=1):
            shares = part @ key.transpose(0, 2, 1) / np.sqrt(np.float32(size))
            shares = np.exp(shares - shares.max(axis=-1, keepdims=True))
            attended.append((shares / shares.sum(axis=-1, keepdims=True)) @ value)
        return np.concatenate(attended, axis=1).transpose(1, 0, 2).reshape(count, -1)

    def _added(self, hidden: Vectors, change: Vectors, name: str) -> Vectors:
        return self._normed(hidden + self._linear[f"{name}.dense"](change), f"{name}.LayerNorm")

    def _normed(self, hidden: Vectors, name: str) -> Vectors:
        centered = hidden - hidden.mean(axis=-1, keepdims=True)
        variance = np.square(centered).mean(axis=-1, keepdims=True)
        normed = centered / np.sqrt(variance + np.float32(self._config["layer_norm_eps"]))
        return cast("Vectors", normed * self._of(name) + self._of(name, "bias"))

    def _of(self, name: str, kind: str = "weight") -> Vectors:
        return cast("Vectors", self._weights[f"{name}.{kind}"])


class _Linear:
    """A linear layer whose weights are divided into blocks that BLAS multiplies in one thread."""

    def __init__(self, weight: Vectors, bias: Vectors) -> None:
        outputs, inputs = weight.shape
        columns = 2 ** round(math.log2(math.sqrt(_MAX_PRODUCT / inputs)))
        padded = np.zeros((-(-outputs // columns) * columns, inputs), dtype=np.float32)
        padded[:outputs] = weight
        self._blocks = np.ascontiguousarray(padded.reshape(-1, columns, inputs).transpose(0, 2, 1))
        self._bias = np.asarray(bias, dtype=np.float32)
        self._most_rows = max(1, _MAX_PRODUCT // (inputs * columns))

    def __call__(self, values: Vectors) -> Vectors:
        count, inputs = values.shape
        rows = min(count, self._most_rows)
        padded = np.zeros((-(-count // rows) * rows, inputs), dtype=np.float32)
        padded[:count] = values
        # NumPy multiplies each block of rows with each block of columns by itself.
        products = padded.reshape(-1, 1, rows, inputs) @ self._blocks
        joined = products.transpose(0, 2, 1, 3).reshape(len(padded), -1)
        return cast("Vectors", joined[:count, : len(self._bias)] + self._bias)


def _gelu(values: Vectors) -> Vectors:
    """Return each value times the share of a normal distribution that lies below it.

    The error function is formula 7.1.26 of Abramowitz & Stegun, which errs by less than a float of 32 bits does near 1.
    """
    size = np.abs(values) * np.float32(np.sqrt(0.5))
    part = 1 / (1 + np.float32(0.3275911) * size)
    above = np.zeros_like(part)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        above = (above + np.float32(factor)) * part
    tail = above * np.exp(-size * size) / 2
    return cast("Vectors", values * np.where(values < 0, tail, 1 - tail))


def _read_json_file(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
