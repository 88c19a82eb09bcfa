"""The functions of the package that a call runs, in the order of their first call.

    python -m tests.house.walks     # prints them as JSON

The profile is of the whole interpreter, so tests run it in one of its own.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.house.tree import PACKAGE, ROOT

_INNER = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "<module>")

TEXT = """# Refunds

A refund is paid in seven days. It is refused if anybody signed in. An annual plan has a card.

# Backups

The backup is kept on a replica. It is a page.
"""


@cache
def measured_walks() -> Mapping[str, Sequence[str]]:
    """Return the functions, as ``path.py:name``, that adding a document and asking a question run."""
    command = [sys.executable, "-m", "tests.house.walks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    walks: Mapping[str, Sequence[str]] = json.loads(done.stdout)
    return walks


def walk(call: Callable[[], Any]) -> list[str]:
    """Make a call, and return what it ran."""
    codes: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _is_ours(frame.f_code):
            codes[frame.f_code] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(map(_name, codes))


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(f"{PACKAGE}/") and code.co_name not in _INNER


def _name(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(PACKAGE).as_posix()}:{code.co_qualname.replace('.<locals>', '')}"


def main() -> None:
    """Print both walks, each a call on a warm index on disk."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from langchain_sentence_window import SentenceWindowRetriever

    with tempfile.TemporaryDirectory() as folder:
        first = [Document(page_content=TEXT, metadata={"source": "p.md"}, id="p")]
        retriever = SentenceWindowRetriever.from_documents(first, DeterministicFakeEmbedding(size=64), path=folder)
        retriever.add_documents([Document(page_content="An invoice for a seat.", id="warm")])
        retriever.invoke("refund card", k=1)
        second = [Document(page_content=TEXT, metadata={"source": "q.md"}, id="q")]
        added = walk(lambda: retriever.add_documents(second))
        asked = walk(lambda: retriever.invoke("the refund Card", k=2))  # a word that may be a name
        retriever.vectorstore.close()  # type: ignore[attr-defined]
    print(json.dumps({"add_documents": added, "invoke": asked}))


if __name__ == "__main__":
    main()
