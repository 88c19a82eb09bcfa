"""How far a call goes through the package: what runs, how deep, and what only hands its arguments on.

    python -m tests.house.walks     # prints the walks as JSON

Each walk is one call on a warm index on disk. It counts and times nothing, so it gives the same in each run. The
profile is of the whole interpreter, so tests run it in one of its own.
"""

import ast
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.house.tree import PACKAGE

_INNER = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "<module>")

TEXT = """# Refunds

A refund is paid in seven days. It is refused if anybody signed in. An annual plan has a card.

# Backups

The backup is kept on a replica. It is a page.
"""


@dataclass(frozen=True)
class Walk:
    """Hold what one call ran.

    Attributes:
        functions: The functions of the package, as ``path.py:name``, in the order of their first call.
        deepest: The most frames of the package on the stack at once.
        hand_overs: Functions whose body is one call that passes their own arguments on.
    """

    functions: Sequence[str]
    deepest: int
    hand_overs: Sequence[str]

    @property
    def figures(self) -> dict[str, int]:
        """The figures of the walk, by their names."""
        modules = {each.partition(":")[0] for each in self.functions}
        return {
            "functions": len(self.functions),
            "modules": len(modules),
            "deepest": self.deepest,
            "hand-overs": len(self.hand_overs),
        }


def walk(call: Callable[[], Any]) -> tuple[Walk, Any]:
    """Make a call, and return what it ran and what it returned."""
    codes: dict[CodeType, None] = {}
    deepest = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event == "call" and _is_ours(frame.f_code):
            codes[frame.f_code] = None
            depth, up = 0, frame
            while up is not None:
                depth, up = depth + _is_ours(up.f_code), up.f_back  # type: ignore[assignment]
            deepest = max(deepest, depth)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        result = call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Walk(list(map(_name, codes)), deepest, [_name(code) for code in codes if _hands_over(code)]), result


@cache
def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(f"{PACKAGE}/") and code.co_name not in _INNER


def _name(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(PACKAGE).as_posix()}:{code.co_qualname.replace('.<locals>', '')}"


@cache
def _functions(path: str) -> dict[tuple[int, str], ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(Path(path).read_text(encoding="utf-8")))
    found = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {(min([each.lineno, *(one.lineno for one in each.decorator_list)]), each.name): each for each in found}


def _hands_over(code: CodeType) -> bool:
    function = _functions(code.co_filename).get((code.co_firstlineno, code.co_name))
    body = [each for each in function.body if not isinstance(each, ast.Import | ast.ImportFrom)] if function else []
    body = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    simple = (ast.Name, ast.Attribute, ast.Constant, ast.Lambda, ast.Starred)
    return isinstance(value, ast.Call) and all(
        isinstance(each, simple) for each in [*value.args, *(keyword.value for keyword in value.keywords)]
    )


def all_walks() -> dict[str, Walk]:
    """Return the walks of the five calls by their names."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from langchain_sentence_window import SentenceWindowRetriever, find_citations

    with tempfile.TemporaryDirectory() as folder:
        first = [Document(page_content=TEXT, metadata={"source": "p.md"}, id="p")]
        retriever = SentenceWindowRetriever.from_documents(first, DeterministicFakeEmbedding(size=64), path=folder)
        retriever.add_documents([Document(page_content="An invoice for a seat.", id="warm")])
        retriever.invoke("refund card", k=1)
        retriever.get(["p"])
        second = [Document(page_content=TEXT, metadata={"source": "q.md"}, id="q")]
        walks = {"add_documents": walk(lambda: retriever.add_documents(second))[0]}
        walks["invoke"], windows = walk(lambda: retriever.invoke("refund card", k=2))
        walks["invoke, max_tokens"] = walk(lambda: retriever.invoke("refund card", k=2, max_tokens=100))[0]
        walks["find_citations"] = walk(lambda: find_citations("It is paid in seven days [1].", windows))[0]
        walks["delete"] = walk(lambda: retriever.delete(["q"]))[0]
        retriever.vectorstore.close()  # type: ignore[attr-defined]
    return walks


if __name__ == "__main__":
    print(json.dumps({name: asdict(each) for name, each in all_walks().items()}))
