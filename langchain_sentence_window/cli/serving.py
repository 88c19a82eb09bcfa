"""The commands that serve an index: ``serve`` to people, ``mcp`` to agents."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from langchain_sentence_window._hosts import OpenServerError
from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.output import Output
from langchain_sentence_window.errors import InvalidInputError

Host: TypeAlias = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="The address to listen on; another than this machine's needs a token."
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
        help="What clients must send. Set the variable, as other users of this machine can read a command line.",
    ),
]
ServerNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--name", metavar="NAME", help="A name by which clients reach it, such as search.example.com. Repeat it."
    ),
]


def serve(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    token: Token = None,
    names: ServerNames = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let nobody add or delete documents.")] = False,
    questions: Annotated[
        Path | None, typer.Option("--questions", metavar="FILE", help="The questions to measure by, as JSON lines.")
    ] = None,
    model: options.Model = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve a page to ask, look into, tune and measure an index."""
    from langchain_sentence_window.cli.opening import check_writable, existing_index, open_index
    from langchain_sentence_window.retrieval.index_settings import read_index_settings
    from langchain_sentence_window.studio import serve_studio

    out, folder = Output(quiet=quiet), existing_index(index)
    chat_model = None
    if model is not None:
        from langchain_sentence_window.cli.answers import chat_model as make_model

        chat_model = make_model(model)
    if not read_only:
        check_writable(folder, "serve it with --read-only")
    with open_index(out, folder, embedding, read_only=read_only) as retriever, _hosts_told():
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
    filter: options.Filter = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve an index to agents (Model Context Protocol)."""
    from langchain_sentence_window.answering.mcp_server import create_mcp_server, serve_mcp
    from langchain_sentence_window.cli.opening import existing_index, open_index
    from langchain_sentence_window.cli.values import read_filter

    out = Output(as_json=True, quiet=quiet)  # stdout belongs to the client
    bound = read_filter(filter)
    with open_index(out, existing_index(index), embedding, filter=bound) as retriever, _hosts_told():
        server = create_mcp_server(retriever, name=title, about=about)
        out.note(f"Serving at http://{host}:{port}/mcp" if http else "Serving on stdin and stdout")
        serve_mcp(server, "http" if http else "stdio", host=host, port=port, names=names or [], token=token)


@contextmanager
def _hosts_told() -> Iterator[None]:
    """Say with which options a server is safe."""
    try:
        yield
    except OpenServerError as error:
        cure = (
            "say by which names clients reach it, such as --name search.example.com"
            if error.lacks == "names"
            else f"give a token that clients must send, in the variable {options.TOKEN_VARIABLE} or by --token, or "
            "listen on --host 127.0.0.1 alone"
        )
        raise InvalidInputError(f"the server would be open to whoever reaches {error.host}; {cure}") from error
