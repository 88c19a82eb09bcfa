"""Folders of indexes that tests damage, copy and open: their files, and processes that are killed while using them."""

import os
import signal
from contextlib import suppress
from itertools import count
from pathlib import Path

from langchain_sentence_window import FaissStore
from tests.interpreters import run_code
from tests.torture.corpus import TextEmbeddings, document

DATABASE = "sentences.sqlite3"
LOG = f"{DATABASE}-wal"
HEAD = "sentences.head"
VECTORS = "vectors.faiss"
WORDS = "words"

_KILLED = """
import os, shutil, signal, sys
from langchain_sentence_window import FaissStore
from tests.store.folders import stage
from tests.torture.corpus import TextEmbeddings, document
store = FaissStore.open(sys.argv[1], TextEmbeddings())
for act in sys.argv[2].split():
    if act == "write":
        store.replace_documents(document(2, 9), ["document 2"])
    elif act == "search":
        store.lexical_search("a")
    elif act == "copy":
        shutil.copy(f"{sys.argv[1]}/sentences.sqlite3", f"{sys.argv[1]}.copy")
    elif act == "much":
        for version in range(100):
            store.add_texts([f"{version} {number} " + "x" * 20_000 for number in range(10)])
    else:
        stage(store)
os.kill(os.getpid(), signal.SIGKILL)
"""


def be_killed(folder: Path, acts: str = "write") -> None:
    """Let a process do something with an index, and be killed before it closes it, so that its log stays.

    Args:
        folder: The folder of the index, with documents 0 to 9 of version 0.
        acts: What it does: ``write`` version 9 of document 2, ``search`` words, ``stage`` vectors, interrupted,
            ``copy`` the database next to the folder, or ``write much``.
    """
    done = run_code(_KILLED, folder, acts)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (folder / LOG).stat().st_size


def stage(store: FaissStore) -> None:
    """Interrupt a call while many documents are embedded, so that no document is written, but vectors are."""
    calls, embed = count(), TextEmbeddings.embed_documents

    def interrupted(embedding: TextEmbeddings, texts: list[str]) -> list[list[float]]:
        if next(calls):
            raise KeyboardInterrupt
        return embed(embedding, texts)

    setattr(TextEmbeddings, embed.__name__, interrupted)
    with suppress(KeyboardInterrupt):
        store.add_documents([each for number in range(200, 260) for each in document(number, 3)])
    setattr(TextEmbeddings, embed.__name__, embed)
    assert store.stats().staged_texts


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder, by their paths there."""
    return {os.fsdecode(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
