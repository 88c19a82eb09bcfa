"""`Studio`: what one page works on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

if TYPE_CHECKING:
    from langchain_sentence_window.studio.gold_texts import GoldTexts
    from langchain_sentence_window.studio.jobs import Jobs
    from langchain_sentence_window.studio.listing import Library
    from langchain_sentence_window.studio.question_list import QuestionList
    from langchain_sentence_window.studio.runs import Runs
    from langchain_sentence_window.studio.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Studio:
    """The things that a page works on, and its permissions.

    Attributes:
        retriever: The retriever that is asked.
        jobs: The long work that was started from the page.
        question_list: The questions with gold spans that the page edits.
        gold_texts: What their gold says.
        runs: What was measured on them.
        folders: The folders and files whose contents the page may show, resolved. Nothing else on disk is read.
        chat_model: The model that answers; ``None`` for no answers.
        library: The list of the index's documents.
        uploads: The files that are added from the page.
        is_read_only: Whether the page may change neither the index nor the questions.
    """

    retriever: SentenceWindowRetriever
    jobs: "Jobs"
    question_list: "QuestionList"
    gold_texts: "GoldTexts"
    runs: "Runs"
    library: "Library"
    uploads: "Uploads"
    folders: tuple[Path, ...] = ()
    chat_model: BaseChatModel | None = None
    is_read_only: bool = False

    async def documents(self) -> Sequence[IndexedDocument]:
        """Return the documents of the index as the retriever's filter lets them through, without listing them anew."""
        return (await self.library.current(self.retriever)).documents

    @property
    def questions(self) -> Path | None:
        """The file of the questions; ``None`` if they are kept in memory."""
        return self.question_list.path
