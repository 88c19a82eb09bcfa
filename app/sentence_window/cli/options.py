"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

INDEX_VARIABLE = "SENTENCE_WINDOW_INDEX"
TOKEN_VARIABLE = "SENTENCE_WINDOW_TOKEN"  # noqa: S105 - the name of a variable


Index: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--index",
        "-i",
        metavar="DIR",
        envvar=INDEX_VARIABLE,
        file_okay=False,
        help="The folder of the index. Default: .sentence-window in this folder, or in one above.",
    ),
]
Embedding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        "-e",
        metavar="NAME",
        help="The embedder: minilm, provider:model such as openai:text-embedding-3-small, or a model's folder. "
        "The index remembers it.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, and nothing else.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out notes and progress.")]

Question: TypeAlias = Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question.")]
Questions: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="QUESTIONS",
        help="Questions with gold spans as JSON lines, or questions and answers as CSV or text.",
    ),
]
Names: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="DOC...", help="Documents: ids, sources, or the ends of their paths.")
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="DOC", help="A document: its id, source, or path's end.")]

K: TypeAlias = Annotated[int | None, typer.Option("-k", "--k", metavar="N", help="The number of windows.")]
Window: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--window", "-w", metavar="WINDOW", help="Sentences around a hit: auto, 2, or 1,6 for before and after."
    ),
]
MaxTokens: TypeAlias = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", help="The most tokens for all windows together.")
]
Filter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--filter", "-f", metavar="JSON", help="""A filter on metadata, such as '{"year": {"$gte": 2024}}'."""
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="Another setting, such as order=document. Repeat it."),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="A chat model that answers, such as openai:gpt-5-mini."),
]
Budgets: TypeAlias = Annotated[
    str, typer.Option("--budgets", metavar="N,N", help="Sizes of the context, in characters.")
]
DEFAULT_BUDGETS = "400,800,1600,3200"
