"""Checks of arguments: documents, texts, embedders, stores, models and paths."""

import inspect
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sized
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from ._display import shown
from ._primitives import STORABLE_ID
from ._validation import checked_list, invalid, wrong_kind
from .errors import InvalidInputError

DocumentStream: TypeAlias = Iterable[Document] | AsyncIterable[Document]
"""Documents that are read one by one, by a call that keeps only some of them at a time."""


def as_documents_or_stream(documents: object, *, is_async: bool) -> list[Document] | DocumentStream:
    """Return Documents as a checked list if they have a length; otherwise return an iterator.

    Args:
        documents: Any iterable.
        is_async: Whether it may be an async iterable.

    Raises:
        InvalidInputError: The argument isn't an iterable of Documents.
    """
    if is_async and isinstance(documents, AsyncIterable) and not hasattr(documents, "lazy_load"):
        return documents
    return checked_documents(documents) if isinstance(documents, Sized) else as_iterator(documents)


def as_iterator(documents: object) -> Iterator[Document]:
    """Return an iterator of Documents.

    Raises:
        InvalidInputError: The argument isn't an iterable of Documents. Its elements aren't checked.
    """
    if isinstance(documents, Iterable) and not _is_single(documents):
        return iter(documents)
    if isinstance(documents, AsyncIterable):
        raise invalid("documents", documents, "collect them first: [each async for each in documents]")
    raise invalid("documents", documents, "give a list of Documents: [Document(page_content=text)]")


def checked_documents(documents: object) -> list[Document]:
    """Return the documents of any iterable as a list.

    Raises:
        InvalidInputError: The argument isn't an iterable of Documents. The message says which element is wrong.
    """
    checked = list(as_iterator(documents))
    for position, document in enumerate(checked):
        check_document(position, document)
    return checked


def _is_single(value: object) -> bool:
    """Return whether a value is a single text or Document, though Python can iterate over it."""
    return isinstance(value, str | bytes | Mapping | Document)


def checked_texts(texts: object) -> list[str]:
    """Return texts as a list.

    Raises:
        InvalidInputError: The argument isn't an iterable of strings. The message says which element is wrong.
    """
    if _is_single(texts) or not isinstance(texts, Iterable):
        raise invalid("texts", texts, "give a list of strings")
    checked = list(texts)
    for position, text in enumerate(checked):
        if not isinstance(text, str):
            raise invalid(f"texts[{position}]", text, "give strings. Nothing was done.")
    return checked


def as_documents(texts: object, metadatas: object) -> list[Document]:
    """Return Documents with the texts and metadata.

    Raises:
        InvalidInputError: The arguments aren't lists of strings and dicts of the same length. The message says which
            element is wrong.
    """
    contents = checked_texts(texts)
    dicts = [{} for _ in contents] if metadatas is None else checked_list("metadatas", metadatas)
    if len(dicts) != len(contents):
        raise InvalidInputError(f"got {len(dicts)} metadatas for {len(contents)} texts; give one for each")
    documents: list[Document] = []
    for position, (text, metadata) in enumerate(zip(contents, dicts, strict=True)):
        if not isinstance(metadata, dict):
            raise invalid(f"metadatas[{position}]", metadata, "give a dict. Nothing was done.")
        documents.append(Document(page_content=text, metadata=metadata))
    return documents


def check_document(position: int, document: object) -> None:
    """Check that an element of ``documents`` is a Document.

    Raises:
        InvalidInputError: It isn't.
    """
    name = f"documents[{position}]"
    if not isinstance(document, Document):
        raise invalid(name, document, "give Document(page_content=text). Nothing was done.")
    if not isinstance(document.page_content, str) or not isinstance(document.metadata, dict):
        raise InvalidInputError(
            f"{name} has {shown(document.page_content)} as its page_content and {shown(document.metadata)} as its "
            "metadata; they must be a string and a dict. Nothing was done."
        )


def checked_vectorstore(name: str, store: object) -> VectorStore:
    """Return a vector store.

    Raises:
        InvalidInputError: The value isn't one, but a retriever, a name or ``None``, say.
    """
    if isinstance(store, VectorStore):
        return store
    cure = "give a VectorStore of LangChain: FaissStore(embedding), or that of SentenceWindowRetriever.open(path)"
    raise wrong_kind(name, store, cure)


def checked_reranker(name: str, reranker: object) -> BaseDocumentCompressor | None:
    """Return a reranker, or ``None``.

    Raises:
        InvalidInputError: The value isn't one, but a model or its name, say.
    """
    if reranker is None or isinstance(reranker, BaseDocumentCompressor):
        return reranker
    cure = "give a reranker: CrossEncoderReranker(model=...) or LateInteractionReranker(model=...)"
    raise wrong_kind(name, reranker, cure)


def checked_language_model(name: str, model: object) -> Any:
    """Return a language model: one of LangChain, or a function that takes a prompt.

    Raises:
        InvalidInputError: The value is a model's name, a class, a retriever, or can't be called.
    """
    is_model = hasattr(model, "invoke") or callable(model)
    if not is_model or isinstance(model, type | BaseRetriever):
        cure = "give a chat model of LangChain: create_rag_chain(retriever, init_chat_model('openai:gpt-5-mini'))"
        raise wrong_kind(name, model, cure)
    return model


ASK_WITH_TEXT = "ask with a string, such as message.text"
"""The cure for a question that isn't a string."""


def check_order(embedding: object, path: object, call: str) -> None:
    """Check that a path and an embedder aren't swapped.

    Args:
        embedding: The value given as the embedder.
        path: The value given as the path.
        call: The correct call, for the message.

    Raises:
        InvalidInputError: They are swapped.
    """
    if is_embedder(path) and not isinstance(path, str | PathLike):
        raise InvalidInputError(f"the path is {shown(path)}, which embeds; write {call}")
    if isinstance(embedding, PathLike):
        raise invalid("embedding", embedding, f"write {call}")


def checked_path(path: object) -> Path:
    """Return a path that a file can have.

    Raises:
        InvalidInputError: The value isn't a string or ``PathLike``, or has characters that no file name can have.
    """
    if isinstance(path, str | PathLike) and not isinstance(path, type):
        checked = Path(path)
        if STORABLE_ID.fullmatch(str(checked)):
            return checked
    raise invalid("the path", path, "give the path of a file as a string or a pathlib.Path")


EMBEDDER_METHODS = ("embed_documents", "embed_query")


def is_embedder(value: object) -> TypeGuard[Embeddings]:
    """Return whether a value is an embedder, without running any of its code."""
    has_methods = all(inspect.getattr_static(value, name, None) for name in EMBEDDER_METHODS)
    return isinstance(value, Embeddings) or (has_methods and not isinstance(value, type))
