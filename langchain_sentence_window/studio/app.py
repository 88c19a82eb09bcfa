"""`create_studio`: the app that serves the page."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette
from starlette.middleware import Middleware

from langchain_sentence_window._hosts import LOOPBACK, as_sent, check_token, name_list
from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio import (
    about,
    adding,
    answering,
    asking,
    following,
    jobs,
    library,
    measuring,
    question_set,
    reading,
    static_files,
    tracing,
    tuning,
)
from langchain_sentence_window.studio.gold_texts import GoldTexts
from langchain_sentence_window.studio.guard import Guard
from langchain_sentence_window.studio.listing import Library
from langchain_sentence_window.studio.question_list import QuestionList
from langchain_sentence_window.studio.runs import Runs
from langchain_sentence_window.studio.state import Studio
from langchain_sentence_window.studio.uploads import Uploads, kept_files

_PARTS = (
    about,
    asking,
    answering,
    tracing,
    tuning,
    reading,
    library,
    adding,
    following,
    question_set,
    measuring,
    jobs,
    static_files,
)


def create_studio(
    retriever: SentenceWindowRetriever,
    *,
    folders: Iterable[str | PathLike[str]] = (),
    questions: str | PathLike[str] | None = None,
    chat_model: BaseChatModel | None = None,
    read_only: bool = False,
    token: str | None = None,
    names: Sequence[str] = (),
) -> Starlette:
    """Create the app that serves the page.

    Args:
        retriever: The retriever to look into. Its filter limits everything that the page shows and does.
        folders: Folders and files that the documents are from. The page shows PDFs that lie inside, and no other file.
            Files that are added from the page are kept in ``uploads`` in the first folder, else in that of the index.
        questions: A file of questions with gold spans, which the page edits; ``None`` to keep them in memory.
        chat_model: The model that answers questions; ``None`` for a page without answers.
        read_only: Whether the page may change nothing.
        token: What callers must show, see `serve_studio`; ``None`` for nothing.
        names: Names by which browsers reach the server, beside those of this machine, without a port.

    Returns:
        A Starlette app, at the root of its server.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`, or another argument can't be used.
        MissingExtraError: The extra ``studio`` isn't installed.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"the studio takes a SentenceWindowRetriever, not {shown(retriever)}; make one over the store, e.g. "
            "SentenceWindowRetriever(vectorstore=store)"
        )
    allowed = [*LOOPBACK, *map(as_sent, name_list(names))]
    check_token(token)
    given = [Path(each).absolute() for each in folders]
    kept = kept_files(retriever, given)
    # A folder that is a link leads to files that nobody served.
    uploads = [] if kept.folder is None or kept.folder.is_symlink() else [kept.folder]
    studio = Studio(
        retriever,
        jobs=jobs.Jobs(),
        question_list=QuestionList(None if questions is None else Path(questions).absolute()),
        gold_texts=GoldTexts(),
        runs=Runs(),
        library=Library(),
        uploads=Uploads(kept),
        folders=tuple(each.resolve() for each in [*given, *uploads]),
        chat_model=chat_model,
        is_read_only=read_only,
    )
    app = Starlette(
        routes=[route for part in _PARTS for route in part.routes()],
        middleware=[Middleware(Guard, names=allowed, token=token)],
    )
    app.state.studio = studio
    return app
