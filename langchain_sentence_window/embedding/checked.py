"""Checks of what is passed as an embedder; messages say what to pass instead."""

import inspect
import re
from typing import cast

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import EMBEDDER_METHODS as _METHODS
from langchain_sentence_window.embedding.settings import without_secrets
from langchain_sentence_window.errors import InvalidInputError

_EXAMPLE = "openai:text-embedding-3-small"
_MAX_SHOWN_CHARS = 80


def checked_embedding(embedding: object) -> Embeddings:
    """Return the embedder that was passed: an instance of ``Embeddings``, or of a class with its two methods.

    Raises:
        InvalidInputError: It is something else, such as a model's name.
    """
    has_methods = not isinstance(embedding, type) and all(callable(getattr(embedding, name, None)) for name in _METHODS)
    if isinstance(embedding, Embeddings) or has_methods:
        return cast("Embeddings", embedding)
    raise InvalidInputError(f"embedding is {_what(embedding)}; {_cure(embedding)}")


def _what(given: object) -> str:
    if given is None:
        return "None"
    if isinstance(given, str):
        return f"the string {without_secrets(given)[:_MAX_SHOWN_CHARS]!r}"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    if inspect.isroutine(given):
        return f"the function {given.__name__}"
    return f"an object of the class {type(given).__module__}.{type(given).__qualname__}"


def _cure(given: object) -> str:
    if isinstance(given, str):
        name = without_secrets(given) if re.fullmatch(r"[\w-]+:\S{1,80}", given) else _EXAMPLE
        return f"pass an embedder, not a model's name: init_embeddings({name!r}) of langchain.embeddings makes one"
    if isinstance(given, type):
        return f"pass an instance of it: {given.__name__}(...)"
    if _is_from("sentence_transformers", given):
        return "pass HuggingFaceEmbeddings(model_name=...) of langchain_huggingface, which loads the model itself"
    if _is_from("langchain_core.language_models", given):
        return f"a language model only writes; init_embeddings({_EXAMPLE!r}) of langchain.embeddings makes an embedder"
    if inspect.isroutine(given):
        return "pass an instance of a class that has embed_documents and embed_query"
    order = "; documents come first: from_documents(documents, embedding)" if isinstance(given, list) else ""
    return (
        f"pass an embedder, e.g. init_embeddings({_EXAMPLE!r}) of langchain.embeddings, or an object that has "
        f"embed_documents and embed_query{order}"
    )


def _is_from(package: str, given: object) -> bool:
    return any(f"{kind.__module__}.".startswith(f"{package}.") for kind in type(given).__mro__)
