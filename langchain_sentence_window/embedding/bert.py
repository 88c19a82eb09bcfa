"""A BERT of sentence-transformers that embeds with NumPy, as loading PyTorch for a question takes seconds.

The forward pass is that of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019, with the mean
of all tokens as the text's vector (Reimers & Gurevych, "Sentence-BERT", 2019). Its vectors differ from those of PyTorch
by rounding.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._primitives import Vectors

FEW_TEXTS = 32
"""The most texts that NumPy embeds at once, and of a call if PyTorch is there, which uses all threads, or a GPU."""

_PARTS = ["Transformer", "Pooling", "Normalize"]
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_MEAN = "pooling_mode_mean_tokens"
_MASKED = np.float32(-1e9)


class BertEmbeddings(Embeddings):
    """Embeds a few texts with NumPy, and more of them with the library if it is installed."""

    def __init__(self, folder: Path, load: Callable[[], Embeddings] | None) -> None:
        """Load the model's weights.

        Args:
            folder: Holds a model that `can_embed` says yes to.
            load: Loads the same model with PyTorch; called when many texts are embedded first. ``None`` to embed all
                with NumPy.
        """
        self.model_name = str(folder)
        self._load = load and cache(load)
        self._model = _Bert(folder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts, with NumPy if they are at most `FEW_TEXTS`."""
        if self._load is not None and len(texts) > FEW_TEXTS:
            return self._load().embed_documents(texts)
        by_length = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # so that little is filled up
        vectors: dict[int, list[float]] = {}
        for start in range(0, len(texts), FEW_TEXTS):
            part = by_length[start : start + FEW_TEXTS]
            vectors.update(zip(part, self._model.embed([texts[at] for at in part]).tolist(), strict=True))
        return [vectors[at] for at in range(len(texts))]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question with NumPy."""
        return self.embed_documents([text])[0]

    def library(self) -> Embeddings | None:
        """Return the same model as the library loads it; ``None`` if it isn't installed."""
        return self._load and self._load()


def can_embed(folder: Path) -> bool:
    """Return whether `BertEmbeddings` computes what sentence-transformers would with the model in a folder."""
    try:
        import safetensors  # noqa: F401
        import tokenizers  # noqa: F401

        modules = _read(folder / "modules.json")
        config, pooling = _read(folder / "config.json"), _read(folder / modules[1]["path"] / "config.json")
        other_settings = _read(folder / "config_sentence_transformers.json")
    except (ImportError, OSError, ValueError, TypeError, LookupError):
        return False
    return (
        [module["type"].rpartition(".")[2] for module in modules] == _PARTS
        and modules[0]["path"] == ""
        and (config["model_type"], config["hidden_act"]) == ("bert", "gelu")
        and config.get("dtype", config.get("torch_dtype", "float32")) == "float32"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and [name for name, value in pooling.items() if value is True and name.startswith("pooling_mode")] == [_MEAN]
        and not any(other_settings.get(name) for name in ("prompts", "default_prompt_name", "truncate_dim"))
        and all((folder / name).is_file() for name in (_WEIGHTS, _TOKENIZER))
    )


class _Bert:
    """The weights and the tokenizer of a model."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._weights = load_file(folder / _WEIGHTS)
        self._config = _read(folder / "config.json")
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.enable_truncation(_read(folder / "sentence_bert_config.json")["max_seq_length"])
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape ``(texts, dimension)``."""
        read = self._tokenizer.encode_batch(list(texts))
        mask = np.array([each.attention_mask for each in read], dtype=np.float32)
        tokens = self._forward(np.array([each.ids for each in read]), (1 - mask)[:, None, None, :] * _MASKED)
        sums = (tokens * mask[..., None]).sum(axis=1)
        return cast("Vectors", sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def _forward(self, ids: npt.NDArray[np.int64], bias: Vectors) -> Vectors:
        """Return the last layer's vectors of tokens, shape ``(texts, tokens, dimension)``."""
        texts, length = ids.shape
        embedded = self._of("embeddings.word_embeddings")[ids] + self._of("embeddings.token_type_embeddings")[0]
        hidden = self._normed(embedded + self._of("embeddings.position_embeddings")[:length], "embeddings.LayerNorm")
        for layer in range(self._config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(hidden, f"{at}.attention.self.{name}")
                .reshape(texts, length, self._config["num_attention_heads"], -1)
                .transpose(0, 2, 1, 3)
                for name in ("query", "key", "value")
            )
            shares = query @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(query.shape[-1])) + bias
            shares = np.exp(shares - shares.max(axis=-1, keepdims=True))
            attended = (shares / shares.sum(axis=-1, keepdims=True)) @ value
            attended = attended.transpose(0, 2, 1, 3).reshape(texts, length, -1)
            hidden = self._added(hidden, attended, f"{at}.attention.output")
            hidden = self._added(hidden, _gelu(self._linear(hidden, f"{at}.intermediate.dense")), f"{at}.output")
        return hidden

    def _added(self, hidden: Vectors, change: Vectors, name: str) -> Vectors:
        return self._normed(hidden + self._linear(change, f"{name}.dense"), f"{name}.LayerNorm")

    def _linear(self, hidden: Vectors, name: str) -> Vectors:
        return hidden @ self._of(name).T + self._of(name, "bias")

    def _normed(self, hidden: Vectors, name: str) -> Vectors:
        centered = hidden - hidden.mean(axis=-1, keepdims=True)
        variance = np.square(centered).mean(axis=-1, keepdims=True)
        normed = centered / np.sqrt(variance + np.float32(self._config["layer_norm_eps"]))
        return cast("Vectors", normed * self._of(name) + self._of(name, "bias"))

    def _of(self, name: str, kind: str = "weight") -> Vectors:
        return cast("Vectors", self._weights[f"{name}.{kind}"])


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


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
