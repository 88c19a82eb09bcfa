"""Collections of documents with questions that they answer, each in a folder of its own; and a retriever's budget."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from langchain_core.documents import Document

from benchmarks.baselines import RETURNED
from benchmarks.recall import read_corpus
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import Question, read_questions


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, and questions that they answer."""

    name: str
    documents: list[Document]
    questions: list[Question]


def read_collections(folder: Path, *, most_questions: int | None = None, at_least: int = 1) -> list[Collection]:
    """Read the collections in a folder, in the order of their names.

    Args:
        folder: Holds a folder for each collection, with documents and ``questions.jsonl`` as `benchmarks.recall` reads
            them.
        most_questions: The most questions of each, spread over its file; ``None`` for all.
        at_least: The least number of collections.

    Raises:
        InvalidInputError: There are fewer, or one has no questions.
    """
    folders = sorted(path.parent for path in folder.glob("*/questions.jsonl"))
    if len(folders) < at_least:
        raise InvalidInputError(
            f"{folder} holds {len(folders)} collections, which are folders with a questions.jsonl; "
            f"give a folder with {at_least} or more"
        )
    return [
        Collection(path.name, read_corpus(path), _spread(read_questions(path / "questions.jsonl"), most_questions))
        for path in folders
    ]


def with_budget(retriever: SentenceWindowRetriever, characters: int) -> SentenceWindowRetriever:
    """Return a copy of a retriever that returns what fits into so many characters."""
    return retriever.model_copy(update={"k": RETURNED, "max_tokens": characters, "count_tokens": len})


def _spread(questions: list[Question], most: int | None) -> list[Question]:
    if most is None or most >= len(questions):
        return questions
    return [questions[at] for at in np.linspace(0, len(questions) - 1, most).astype(int)]
