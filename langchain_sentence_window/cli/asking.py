"""The commands ``ask``, ``explain`` and ``why``."""

from typing import Annotated, Any

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.exit_codes import NOTHING
from langchain_sentence_window.cli.output import Output, counted


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
    from langchain_sentence_window.cli.opening import existing_index, nothing_told, open_index
    from langchain_sentence_window.cli.windows import as_dict, show_windows

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = _question(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, existing_index(index), embedding) as retriever:
        out.elapsed()
        if model is not None:
            from langchain_sentence_window.cli.answers import answer

            answer(out, retriever, model, asked, settings)
            return
        windows = retriever.invoke(asked, **settings)
        show_windows(out, windows)
        out.document({"question": asked, "windows": [as_dict(number, each) for number, each in enumerate(windows, 1)]})
        if not windows:
            out.complain(nothing_told(retriever, "Nothing was found."))
            raise typer.Exit(NOTHING)
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
    """Show what became of every hit and window of a question."""
    from langchain_sentence_window.cli.opening import existing_index, nothing_told, open_index
    from langchain_sentence_window.cli.traces import show_trace

    out = Output(as_json=as_json, quiet=quiet)
    asked, settings = _question(question), _settings(k, window, max_tokens, filter, more)
    with open_index(out, existing_index(index), embedding) as retriever:
        trace = retriever.explain(asked, **settings)
        show_trace(out, trace)
        out.document(trace.to_dict())
        if not trace.hits:
            out.complain(nothing_told(retriever, "Nothing was found."))
            raise typer.Exit(NOTHING)


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
    """Say why a question finds a sentence, or doesn't."""
    from langchain_sentence_window.cli.names import find_documents, written
    from langchain_sentence_window.cli.opening import existing_index, open_index
    from langchain_sentence_window.documents.window_metadata import SENTENCES

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
    from langchain_sentence_window.cli.values import call_settings, read_filter

    settings = call_settings(more, window, k=k, max_tokens=max_tokens)
    return settings if filter is None else settings | {"filter": read_filter(filter)}
