"""The Python files of the repository: what they import, and how much of them there is to read.

python -m tests.house.source     # prints the tokens of both packages by folder
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "langchain_sentence_window"
APPLICATION = ROOT / "app" / "sentence_window"

NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the absolute module and the name of each import of a file, also of those in functions and for types."""
    package = ".".join(path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield from ((module, each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)


def count_tokens(path: Path) -> int:
    """Count the tokens of a file without comments, docstrings and line ends, so that long lines gain nothing."""
    source = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        token.type not in NO_CODE and not (token.type == tokenize.STRING and token.start[0] in docstrings)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
    )


def tokens_by_folder(package: Path) -> Counter[str]:
    """Count the tokens of each folder of a package, inner folders included."""
    counts: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        counts[parts[0] if len(parts) > 1 else "."] += count_tokens(path)
    return counts


def report(package: Path) -> str:
    """Return a table of the tokens by folder, most first."""
    counts = tokens_by_folder(package)
    return "\n".join([*(f"{count:9,} {folder}" for folder, count in counts.most_common()), f"{counts.total():9,}"])


if __name__ == "__main__":
    print(report(LIBRARY), report(APPLICATION), sep="\n\n")
