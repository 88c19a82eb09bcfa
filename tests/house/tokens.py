"""How much of the package there is to read: its tokens, without comments, docstrings and blank lines.

    python -m tests.house.tokens     # prints them by folder

Tokens are counted, not lines, so that nobody writes long lines to stay below a limit.
"""

import ast
import io
import tokenize
from collections import Counter

from tests.house.tree import Module, modules

_NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def count_tokens(module: Module) -> int:
    """Count the tokens of a module's code."""
    docstrings: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(module.source).readline)
    return sum(
        token.type not in _NO_CODE and not (token.type == tokenize.STRING and token.start[0] in docstrings)
        for token in tokens
    )


def tokens_by_folder() -> Counter[str]:
    """Count the tokens of each folder of the package, with those of its inner folders."""
    counts: Counter[str] = Counter()
    for module in modules().values():
        counts[module.folder.partition("/")[0] or "."] += count_tokens(module)
    return counts


def report() -> str:
    """Return a table of the tokens by folder, most first."""
    counts = tokens_by_folder()
    lines = [f"{count:9,} {folder}" for folder, count in counts.most_common()]
    return "\n".join([*lines, f"{counts.total():9,} in all"])


if __name__ == "__main__":
    print(report())
