"""The commands that query an index, measure it, and serve it.

``ask``, ``explain`` and ``why``; ``evaluate`` and ``sweep``; ``serve`` to people, ``mcp`` to agents.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from langchain_sentence_window.errors import InvalidInputError
from sentence_window.cli import options
from sentence_window.cli.output import Output, counted
from sentence_window.messages import one_line

if TYPE_CHECKING:
    from langchain_sentence_window import SentenceWindowRetriever
    from langchain_sentence_window.evaluation import Question
    from sentence_window.question_files import OpenQuestion


def ask(
    question: options.Question,
    *,
    k: options.K = None,
    window: options.Window = None,
    max_tokens: options.MaxTokens = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    model: options.Model = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the windows that answer a question.

    With --model, a chat model answers from them, and the answer's citations and quotations are checked.
    """
    from sentence_window.cli.opened_index import nothing_found, open_index
    from sentence_window.cli.printed_results import answer, as_dict, show_windows

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = " ".join(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, index, embedding) as retriever:
        out.elapsed()
        if model is not None:
            answer(out, retriever, model, asked, settings)
            return
        windows = retriever.invoke(asked, **settings)
        show_windows(out, windows)
        out.document({"question": asked, "windows": [as_dict(number, each) for number, each in enumerate(windows, 1)]})
        if not windows:
            out.end_without(nothing_found(retriever, "Nothing was found."))
        tokens = sum(retriever.count_tokens(each.page_content) for each in windows)
        out.note(f"{counted(len(windows), 'window')}, about {tokens:,} tokens, {out.elapsed()}")


def explain(
    question: options.Question,
    *,
    k: options.K = None,
    window: options.Window = None,
    max_tokens: options.MaxTokens = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show all hits and windows of a question, and what happened to each."""
    from sentence_window.cli.opened_index import nothing_found, open_index

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = " ".join(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, index, embedding) as retriever:
        trace = retriever.explain(asked, **settings)
        out.line(str(trace))
        out.document(trace.to_dict())
        if not trace.hits:
            out.end_without(nothing_found(retriever, "Nothing was found."))


def why(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    document: options.Name,
    sentence: Annotated[
        int, typer.Argument(metavar="SENTENCE", min=0, help="The sentence's number, see show --sentences.")
    ],
    *,
    k: options.K = None,
    window: options.Window = None,
    max_tokens: options.MaxTokens = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Say why one sentence is found or not, and which setting would change that."""
    from sentence_window.cli.opened_index import find_documents, open_index, written

    out = Output(as_json=as_json, quiet=quiet)
    settings = _settings(k, window, max_tokens, filter, more)
    with open_index(out, index, embedding) as retriever:
        (named,) = find_documents(retriever, [document])
        outcome = retriever.why(question, named.doc_id, sentence, **settings)
    details = outcome.to_dict()
    out.document(details)
    if details["outcome"] == "missing":
        has = f"{written(named.doc_id)} has {counted(named.sentences, 'sentence')}, numbered from 0"
        out.end_without(f"There is no sentence {sentence}, or the filter excludes it: {has}.")
    out.line(str(outcome))


def _settings(
    k: int | None, window: str | None, max_tokens: int | None, filter: str | None, more: list[str] | None
) -> dict[str, Any]:
    """Return the settings of a call."""
    from sentence_window.cli.typed_values import call_settings, read_filter

    settings = call_settings(more, k=k, window=window, max_tokens=max_tokens)
    return settings if filter is None else settings | {"filter": read_filter(filter)}


MEASURED_K = 40
"""The number of windows that fill a context of several thousand characters."""


def evaluate(
    questions: options.Questions,
    *,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="The number of windows.")] = MEASURED_K,
    window: options.Window = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    budgets: options.Budgets = options.DEFAULT_BUDGETS,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure how much of the right text is found."""
    from langchain_sentence_window.evaluation import evaluate as measure
    from sentence_window.cli.opened_index import open_index
    from sentence_window.cli.typed_values import call_settings, read_filter, read_numbers
    from sentence_window.question_files import read_any_questions

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_any_questions(questions), read_numbers("--budgets", budgets)
    settings = {"filter": read_filter(filter), **call_settings(more, k=k, window=window)}
    with open_index(out, index, embedding, **settings) as retriever:
        report = measure(retriever, _answerable(out, retriever, asked), sizes, show_progress=out.shows_progress)
    out.line(str(report))
    out.document(report.to_dict())


def sweep(
    questions: options.Questions,
    *,
    k: Annotated[str, typer.Option("-k", "--k", metavar="N,N", help="Numbers of windows.")] = str(MEASURED_K),
    window: Annotated[
        list[str] | None,
        typer.Option("--window", "-w", metavar="WINDOW", help="A window to try: auto, 2, or 1,6. Repeat it."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Another setting to try. Repeat it for other values."),
    ] = None,
    filter: options.Filter = None,
    budgets: options.Budgets = options.DEFAULT_BUDGETS,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure each combination of some settings."""
    from langchain_sentence_window.evaluation import sweep as measure
    from sentence_window.cli.opened_index import open_index
    from sentence_window.cli.typed_values import call_settings, read_filter, read_numbers
    from sentence_window.question_files import read_any_questions

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_any_questions(questions), read_numbers("--budgets", budgets)
    typed = [f"window={each}" for each in window or []] + [f"k={each}" for each in read_numbers("-k", k)]
    tried: dict[str, Any] = {}
    for each in [*typed, *(more or [])]:
        for name, value in call_settings([each]).items():
            tried.setdefault(name, []).append(value)
    with open_index(out, index, embedding, filter=read_filter(filter)) as retriever:
        kept = _answerable(out, retriever, asked)
        compared = measure(retriever, kept, sizes, show_progress=out.shows_progress, **tried)
    out.line(str(compared))
    out.document(compared.to_dict())


def _answerable(
    out: Output, retriever: "SentenceWindowRetriever", asked: "list[Question | OpenQuestion]"
) -> list["Question"]:
    """Return the questions that have gold, with the ids of documents that they name as commands do.

    A question without gold gets it from the sentences that contain its answer word for word, or is left out.
    """
    from langchain_sentence_window.evaluation import Question
    from sentence_window.cli.opened_index import DocumentNames

    questions = [each if isinstance(each, Question) else _with_gold(retriever, each) or each for each in asked]
    kept = [each for each in questions if isinstance(each, Question)]
    if len(kept) < len(asked):
        left_out = one_line("; ".join(each.question for each in questions if not isinstance(each, Question)), 300)
        out.complain(
            f"Warning: {len(asked) - len(kept)} of {len(asked)} questions have no gold, because no document "
            f"contains their answers word for word. They are left out: {left_out}; confirm their answers in the "
            "studio: sentence-window serve --questions FILE"
        )
    if not kept:
        raise InvalidInputError("none of the questions has gold, so there is nothing to measure")
    known = DocumentNames(retriever.documents())
    ids = {name: known.find(name) for name in {question.doc_id for question in kept}}
    # `evaluate` finds the others by their text, or warns that they are lost.
    return [
        replace(question, doc_id=ids[question.doc_id][0]) if len(ids[question.doc_id]) == 1 else question
        for question in kept
    ]


def _with_gold(retriever: "SentenceWindowRetriever", asked: "OpenQuestion") -> "Question | None":
    """Return a question with the sentences that contain its answer word for word; ``None`` if none do."""
    from langchain_sentence_window.citations import find_said
    from langchain_sentence_window.evaluation import Question

    if not asked.answer.strip():
        return None
    windows = [each for text in (asked.answer, asked.question) for each in retriever.invoke(text, k=MEASURED_K)]
    said = find_said(asked.answer, windows)
    return Question(asked.question, said.doc_id, said.spans) if said and said.is_exact else None


Host: TypeAlias = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="The address to listen on. An address that others can reach needs a token."
    ),
]
Port: TypeAlias = Annotated[
    int, typer.Option("--port", "-p", metavar="N", min=0, max=65_535, help="The port to listen on.")
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar=options.TOKEN_VARIABLE,
        help="The token for clients. Better set the variable: other users of this machine can read a command line.",
    ),
]
ServerNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="NAME", help="A host name of the server, such as search.example.com. Repeat it."),
]


def serve(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    token: Token = None,
    names: ServerNames = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Don't let the page add or delete documents.")] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions", metavar="FILE", help="The questions to measure with. Default: questions.jsonl in the index."
        ),
    ] = None,
    model: options.Model = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve a page to search, inspect, tune and measure an index."""
    from langchain_sentence_window.stores import read_index_settings
    from sentence_window.cli.opened_index import existing_index, open_index
    from sentence_window.cli.printed_results import chat_model
    from sentence_window.studio import serve_studio

    out, folder = Output(quiet=quiet), existing_index(index)
    with open_index(out, folder, embedding, read_only=read_only) as retriever:
        serve_studio(
            retriever,
            host=host,
            port=port,
            token=token,
            names=names or [],
            folders=read_index_settings(folder).sources,
            questions=questions,
            chat_model=None if model is None else chat_model(model),
            read_only=read_only,
        )


def mcp(
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    names: ServerNames = None,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="The server's name in clients.")] = "documents",
    about: Annotated[
        str | None, typer.Option("--about", metavar="TEXT", help="What the documents are about, for agents to choose.")
    ] = None,
    show_again: Annotated[
        bool, typer.Option("--show-again", help="Let a search show passages again that this session has already shown.")
    ] = False,
    filter: options.Filter = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve an index to agents (Model Context Protocol)."""
    from sentence_window.cli.opened_index import open_index
    from sentence_window.cli.typed_values import read_filter
    from sentence_window.mcp import create_mcp_server, serve_mcp

    out = Output(as_json=True, quiet=quiet)  # stdout belongs to the client
    with open_index(out, index, embedding, filter=read_filter(filter)) as retriever:
        server = create_mcp_server(retriever, name=title, about=about, show_again=show_again)
        out.note(f"Serving at http://{host}:{port}/mcp" if http else "Serving on stdin and stdout")
        serve_mcp(server, "http" if http else "stdio", host=host, port=port, names=names or [], token=token)
