"""Replace documents while others read them, and check that each query reads one state of the store.

    python -m tests.torture.reading [--rounds 100]

Eight threads, or threads of two processes, replace twelve documents. Meanwhile others ask by words and meaning, with
filters, names, budgets, a reranker and a relevance; explain; read whole documents, and cancel such reads. The store is
in a folder or in memory. Each sentence names the version of its document, and all versions are equally long, so that
places fit even if versions are mixed. No call raises, and of no document are two versions in one result.
"""

import asyncio
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from tests.torture.calls import keeps_a_state, open_files
from tests.torture.rounds import main, play_rounds, python
from tests.toys import VOCABULARY, WordEmbeddings

MODULE = "tests.torture.reading"
SECONDS = 120.0
WRITERS = 8
DOCUMENTS = 12
CANCELLATIONS = 10
"""The number of times that a round of cancellations cancels two calls."""
READS = 12
"""The number of results that a round checks."""

_WRITE_THERE = """
import random, sys
from pathlib import Path
from tests.torture.reading import opened, write_on
write_on(opened(Path(sys.argv[1])), random.Random(sys.argv[2]), 1_000, lambda: False)
"""


class Reversing(BaseDocumentCompressor):
    """A slow reranker, which reverses the order of windows."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        time.sleep(0.01)
        return list(reversed(documents))


SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"k": 3, "fetch_k": 3},
    {"window": 3},
    {"max_tokens": 300},
    {"filter": {"tenant": "a"}},
    {"names": False},
    {"min_relevance": "auto"},
    {"lexical_weight": 0, "ranking": None},
    {"reranker": Reversing(), "k": 3},
    {"reranker": Reversing(), "max_tokens": 300},
)


def version_of(number: int, version: int) -> Document:
    """Return a version of a document."""
    chance, mark = random.Random(number), f"v{version:05d}"
    parts = [
        f"# Part {part} of {mark}\n\n"
        + " ".join(f"The {chance.choice(VOCABULARY)} of {mark} has a {chance.choice(VOCABULARY)}." for _ in range(6))
        + f"\n\nSee {mark}:\n\n- a {chance.choice(VOCABULARY)} of {mark}\n- a {chance.choice(VOCABULARY)} of {mark}"
        for part in range(3)
    ]
    metadata = {"title": f"Report {number}", "tenant": "ab"[number % 2]}
    return Document(page_content="\n\n".join(parts), id=f"d{number}", metadata=metadata)


def opened(folder: Path | None) -> SentenceWindowRetriever:
    """Open the store."""
    return SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings(), folder))


def write_on(retriever: SentenceWindowRetriever, chance: random.Random, first: int, is_over: Callable[[], bool]) -> int:
    """Replace one document after the other, and return how often."""
    written = 0
    while not is_over():
        retriever.add_documents([version_of(chance.randrange(DOCUMENTS), first + written)])
        written += 1
    return written


def check(documents: Sequence[Document]) -> None:
    """Check that all of a document is of one version."""
    seen: dict[str, set[str]] = {}
    for each in documents:
        shown = f"{each.page_content} {each.metadata.get('lead_ins')} {each.metadata.get('heading')}"
        seen.setdefault(each.metadata["doc_id"], set()).update(re.findall(r"v\d{5}", shown))
    mixed = {name: versions for name, versions in seen.items() if len(versions) > 1}
    assert not mixed, f"versions are mixed: {mixed}"


def read(retriever: SentenceWindowRetriever, chance: random.Random) -> str:
    """Read once in some way, and return how."""
    asking = retriever.model_copy(update=chance.choice(SETTINGS))
    question = f"which {chance.choice(VOCABULARY)} has a {chance.choice(VOCABULARY)} in Report {chance.randrange(12)}"
    kind = chance.choice(("invoke", "ainvoke", "canceled", "canceled", "batch", "explain", "get", "documents"))
    if kind == "invoke":
        check(asking.invoke(question))
    elif kind == "ainvoke":
        check(asyncio.run(asking.ainvoke(question)))
    elif kind == "canceled":
        for _ in range(CANCELLATIONS):
            asyncio.run(cancel(retriever, chance))
    elif kind == "batch":
        for found in asking.batch([question, "refund"]):
            check(found)
    elif kind == "explain":
        asking.explain(question)
    elif kind == "get":
        found = retriever.get([f"d{number}" for number in range(DOCUMENTS)])
        assert len(found) == DOCUMENTS
        check(found)
    else:
        assert len(retriever.documents()) == DOCUMENTS
    return kind


async def cancel(retriever: SentenceWindowRetriever, chance: random.Random) -> None:
    """Cancel two reads at a random moment, whose threads read on; check that a third one reads its document."""
    names = [f"d{chance.randrange(DOCUMENTS)}" for _ in range(3)]
    reads = [asyncio.create_task(retriever.aget([name])) for name in names]
    await asyncio.sleep(chance.random() * 0.01)
    for each in reads[:2]:
        each.cancel()
    (found,) = await reads[2]
    assert found.metadata["doc_id"] == names[2]
    check([found])
    await asyncio.gather(*reads, return_exceptions=True)


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Read a store while it is written."""
    kind = chance.choice(("in a folder", "in memory", "by two processes"))
    retriever = opened(None if kind == "in memory" else folder / "index")
    retriever.add_documents([version_of(number, 0) for number in range(DOCUMENTS)])
    stop, written = threading.Event(), list[int]()

    def write(number: int) -> None:
        written.append(write_on(retriever, random.Random(number), 10_000 * (number + 1), stop.is_set))

    there = python(_WRITE_THERE, folder / "index", chance.random()) if kind == "by two processes" else None
    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        counts = Counter(read(retriever, chance) for _ in range(READS))
    finally:
        stop.set()
        for thread in threads:
            thread.join(SECONDS)
        if there is not None:
            there.kill()
            there.communicate()
    assert len(written) == WRITERS, "a thread that writes hangs or failed"
    if kind == "in a folder":
        assert not keeps_a_state(folder / "index"), "the log can't be emptied, as if a state were still read"
    retriever.close()
    assert not open_files(folder), f"files are left open: {open_files(folder)}"
    return counts + Counter({kind: 1, "documents replaced": sum(written)})


def torture(rounds: int = 100, seed: int = 0) -> Counter[str]:
    """Play so many rounds, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, seconds=SECONDS, batch=10)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=100, seconds=SECONDS, batch=10)
