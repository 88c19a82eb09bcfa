"""The commands that query an index, measure it, and serve it.

``ask``, ``explain`` and ``why``; ``evaluate`` and ``sweep``; ``serve`` to people, ``mcp`` to agents.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from langchain_sentence_window.apps.hosts import OpenServerError
from langchain_sentence_window.errors import InvalidInputError

from . import options
from .output import NOTHING, Output, counted

if TYPE_CHECKING:
    from langchain_sentence_window.evaluation.questions import AnyQuestion, OpenQuestion, Question
    from langchain_sentence_window.evaluation.report import Comparison, Report
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever


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
    from .opened_index import existing_index, nothing_found, open_index
    from .printed_results import as_dict, show_windows

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = _question(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, existing_index(index), embedding) as retriever:
        out.elapsed()
        if model is not None:
            from .printed_results import answer

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
    """Show all hits and windows of a question, and what became of each."""
    from .opened_index import existing_index, nothing_found, open_index
    from .printed_results import show_trace

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = _question(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, existing_index(index), embedding) as retriever:
        trace = retriever.explain(asked, **settings)
        show_trace(out, trace)
        out.document(trace.to_dict())
        if not trace.hits:
            out.end_without(nothing_found(retriever, "Nothing was found."))


def why(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    document: options.Name,
    sentence: Annotated[int, typer.Argument(metavar="SENTENCE", help="The sentence's number, see show --sentences.")],
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
    from langchain_sentence_window.documents.keys import SENTENCES

    from .opened_index import existing_index, find_documents, open_index, written

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = _question([question]), _settings(k, window, max_tokens, filter, more)
    with open_index(out, existing_index(index), embedding) as retriever:
        (named,) = find_documents(retriever, [document])
        if not 0 <= sentence < named.sentences:
            has = f"{written(named.doc_id)} has {counted(named.sentences, 'sentence')}, numbered from 0"
            out.complain(f"There is no sentence {sentence}: {has}.")
            out.document(
                {
                    "query": asked,
                    "doc_id": named.doc_id,
                    "index": sentence,
                    "outcome": "missing",
                    SENTENCES: named.sentences,
                }
            )
            raise typer.Exit(NOTHING)
        fate = retriever.why(asked, named.doc_id, sentence, **settings)
    out.line(str(fate))
    out.document(fate.to_dict())


def _question(words: list[str]) -> str:
    """Return a question, which may be given as several words."""
    question = " ".join(words)
    if not question.strip():
        raise typer.BadParameter("there is no question; write one", param_hint="'QUESTION'")
    return question


def _settings(
    k: int | None, window: str | None, max_tokens: int | None, filter: str | None, more: list[str] | None
) -> dict[str, Any]:
    """Return the settings of a call."""
    from .typed_values import call_settings, read_filter

    settings = call_settings(more, window, k=k, max_tokens=max_tokens)
    return settings if filter is None else settings | {"filter": read_filter(filter)}


MEASURED_K = 40
"""The windows that are asked for when a context of several thousand characters is measured."""


def _plot_file(given: Path | None) -> Path | None:
    if given is not None and given.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"{given} is neither .svg nor .png")
    return given


Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", callback=_plot_file, help="Draw recall at each budget, as .svg or .png."),
]


def evaluate(
    questions: options.Questions,
    *,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="The number of windows.")] = MEASURED_K,
    window: options.Window = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    budgets: options.Budgets = None,
    plot: Plot = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure how much of the right text is found."""
    from langchain_sentence_window.evaluation.measurement import evaluate as measure
    from langchain_sentence_window.evaluation.questions import read_any_questions

    from .opened_index import existing_index, open_index
    from .typed_values import call_settings, read_filter

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_any_questions(questions), _budgets(budgets)
    settings = call_settings(more, window, k=k)
    with open_index(out, existing_index(index), embedding, filter=read_filter(filter), **settings) as retriever:
        report = measure(retriever, _named(out, retriever, asked), sizes, show_progress=out.shows_progress)
    _show(out, report, plot)


def sweep(
    questions: options.Questions,
    *,
    k: Annotated[str | None, typer.Option("-k", "--k", metavar="N,N", help="Numbers of windows.")] = None,
    window: Annotated[
        list[str] | None,
        typer.Option("--window", "-w", metavar="WINDOW", help="A window to try: auto, 2, or 1,6. Repeat it."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Another setting to try. Repeat it for other values."),
    ] = None,
    filter: options.Filter = None,
    budgets: options.Budgets = None,
    plot: Plot = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure each combination of some settings."""
    from langchain_sentence_window.evaluation.measurement import sweep as measure
    from langchain_sentence_window.evaluation.questions import read_any_questions

    from .opened_index import existing_index, open_index
    from .typed_values import call_settings, read_filter, read_numbers

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_any_questions(questions), _budgets(budgets)
    tried: dict[str, Any] = {}
    if window:
        tried["window"] = [call_settings(None, each)["window"] for each in window]
    tried["k"] = [
        call_settings(None, None, k=each)["k"] for each in ([MEASURED_K] if k is None else read_numbers("-k", k))
    ]
    for each in more or []:
        for name, value in call_settings([each], None).items():
            tried.setdefault(name, []).append(value)
    with open_index(out, existing_index(index), embedding, filter=read_filter(filter)) as retriever:
        compared = measure(retriever, _named(out, retriever, asked), sizes, show_progress=out.shows_progress, **tried)
    _show(out, compared, plot)


def _show(out: Output, measured: "Report | Comparison", plot: Path | None) -> None:
    out.line(str(measured))
    out.document(measured.to_dict())
    if plot is not None:
        measured.plot(plot)
        out.note(f"The plot is in {plot}.")


def _named(out: Output, retriever: "SentenceWindowRetriever", asked: list["AnyQuestion"]) -> list["Question"]:
    """Return questions with the ids of documents that they name by their path, or its end.

    Questions without gold get it where documents say their answers word for word; the others are named and left out.
    """
    from langchain_sentence_window._validation import listed
    from langchain_sentence_window.evaluation.questions import Question

    from .opened_index import EMPTY, NameLookup

    known = NameLookup(retriever.documents())
    if not known.has_any:
        raise InvalidInputError(EMPTY)
    questions = [each if isinstance(each, Question) else _with_gold(retriever, each) or each for each in asked]
    kept = [each for each in questions if isinstance(each, Question)]
    if len(kept) < len(asked):
        left = listed([each.question for each in questions if not isinstance(each, Question)])
        out.complain(
            f"Warning: {len(asked) - len(kept)} of {len(asked)} questions have no gold, because no document "
            f"contains their answers word for word. They are left out: {left}; confirm their answers in the "
            "studio: sentence-window serve --questions FILE"
        )
    if not kept:
        raise InvalidInputError("none of the questions has gold, so there is nothing to measure")
    found = {name: known.named(name) for name in dict.fromkeys(question.doc_id for question in kept)}
    # Others may be found by their text, see `evaluate`, which says which aren't.
    return [
        replace(question, doc_id=found[question.doc_id][0]) if len(found[question.doc_id]) == 1 else question
        for question in kept
    ]


def _with_gold(retriever: "SentenceWindowRetriever", asked: "OpenQuestion") -> "Question | None":
    """Return a question with the sentences that say its answer word for word; ``None`` if none do."""
    from langchain_sentence_window.answering.quotes.verification import find_said
    from langchain_sentence_window.evaluation.questions import Question

    if not asked.answer.strip():
        return None
    windows = [each for text in (asked.answer, asked.question) for each in retriever.invoke(text, k=MEASURED_K)]
    said = find_said(asked.answer, windows)
    return Question(asked.question, said.doc_id, said.spans) if said and said.is_exact else None


def _budgets(given: str | None) -> Any:
    from langchain_sentence_window.evaluation.measurement import BUDGETS

    from .typed_values import read_numbers

    sizes = BUDGETS if given is None else read_numbers("--budgets", given)
    if any(size < 1 for size in sizes):
        raise InvalidInputError("--budgets must be numbers of characters, 1 or more")
    return sizes


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
    read_only: Annotated[bool, typer.Option("--read-only", help="Let nobody add or delete documents.")] = False,
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
    from langchain_sentence_window.apps.studio.page_server import serve_studio
    from langchain_sentence_window.retrieval.index_settings import read_index_settings

    from .opened_index import check_writable, existing_index, open_index

    out, folder = Output(quiet=quiet), existing_index(index)
    chat_model = None
    if model is not None:
        from .printed_results import chat_model as make_model

        chat_model = make_model(model)
    if not read_only:
        check_writable(folder, "serve it with --read-only")
    with open_index(out, folder, embedding, read_only=read_only) as retriever, _host_options():
        serve_studio(
            retriever,
            host=host,
            port=port,
            token=token,
            names=names or [],
            folders=read_index_settings(folder).sources,
            questions=questions,
            chat_model=chat_model,
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
    from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server, serve_mcp

    from .opened_index import existing_index, open_index
    from .typed_values import read_filter

    out = Output(as_json=True, quiet=quiet)  # stdout belongs to the client
    bound = read_filter(filter)
    with open_index(out, existing_index(index), embedding, filter=bound) as retriever, _host_options():
        server = create_mcp_server(retriever, name=title, about=about, show_again=show_again)
        out.note(f"Serving at http://{host}:{port}/mcp" if http else "Serving on stdin and stdout")
        serve_mcp(server, "http" if http else "stdio", host=host, port=port, names=names or [], token=token)


@contextmanager
def _host_options() -> Iterator[None]:
    """Say with which options a server is safe."""
    try:
        yield
    except OpenServerError as error:
        cure = (
            "give the host names by which clients reach it, such as --name search.example.com"
            if error.lacks == "names"
            else f"give a token that clients must send, in the variable {options.TOKEN_VARIABLE} or by --token, or "
            "listen on --host 127.0.0.1 alone"
        )
        raise InvalidInputError(f"the server would be open to whoever reaches {error.host}; {cure}") from error
