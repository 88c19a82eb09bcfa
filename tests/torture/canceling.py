"""Cancel calls that read a store at any moment, and check every answer that others get meanwhile.

    python -m tests.torture.canceling [--rounds 100]

Tasks read documents with `aget`, with the tool ``read_around`` and with ``fetch`` of an MCP server, and are canceled at
a random moment, 500 in each round. Others, which aren't canceled, read by the same ways, and threads by `get`. Each
answer is the document that was asked for, complete and nothing else, and no call raises. Afterwards no state is left
open, no file, and no thread that doesn't end.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from langchain_core.documents import Document
from mcp import Client

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, create_tools
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from tests.patience import PATIENCE
from tests.torture.calls import keeps_a_state
from tests.torture.rounds import main, play_rounds, within
from tests.toys import WordEmbeddings

MODULE = "tests.torture.canceling"
SECONDS = 300.0
CANCELLATIONS = 500
"""The number of calls that a round cancels."""
DOCUMENTS = 12
SENTENCES = 12
CANCELERS = 12
"""The number of tasks that cancel calls. Three others, one for each way, and a thread only read."""

Read = Callable[[int], Awaitable[str]]


def sentence(number: int, index: int) -> str:
    """Return a sentence that names its document."""
    return f"Sentence {index} is of document {number}."


def text_of(number: int) -> str:
    """Return a document's text."""
    return " ".join(sentence(number, index) for index in range(SENTENCES))


def check(number: int, found: str) -> None:
    """Check that an answer holds all sentences of a document and none of another."""
    of = {name for name in range(DOCUMENTS) if f"of document {name}." in found}
    assert of == {number}, f"document {number} was asked for, and {of or 'nothing'} came: {found!r}"
    lacking = [index for index in range(SENTENCES) if sentence(number, index) not in found]
    assert not lacking, f"document {number} lacks the sentences {lacking}"


class Round:
    """Calls that are canceled, and others.

    Attributes:
        counts: What happened.
    """

    def __init__(self, retriever: SentenceWindowRetriever, client: Client, chance: random.Random) -> None:
        self.counts = Counter[str]()
        self._retriever, self._client, self._chance = retriever, client, chance
        (self._read_around,) = (tool for tool in create_tools(retriever) if tool.name == "read_around")
        self._ways: Mapping[str, Read] = {"aget": self._aget, "read_around": self._around, "fetch": self._fetch}
        self._seconds = dict.fromkeys(self._ways, 0.01)
        self._is_over = threading.Event()

    async def play(self) -> None:
        """Play until enough calls were canceled."""
        readers = [asyncio.create_task(self._read_on(way)) for way in self._ways]
        readers.append(asyncio.create_task(asyncio.to_thread(self._read_in_thread)))
        try:
            await asyncio.gather(*(self._cancel_on() for _ in range(CANCELERS)))
        finally:
            self._is_over.set()
            await asyncio.gather(*readers)

    async def _cancel_on(self) -> None:
        loop = asyncio.get_running_loop()
        while self.counts["canceled"] < CANCELLATIONS and not self._is_over.is_set():
            (way,) = self._chance.choices([*self._ways], [6, 2, 1])  # a call of MCP takes much longer
            number = self._chance.randrange(DOCUMENTS)
            reading, begun = asyncio.ensure_future(self._ways[way](number)), loop.time()
            await asyncio.wait([reading], timeout=self._chance.random() * self._seconds[way])
            reading.cancel()
            try:
                check(number, await reading)
                self._seconds[way] = loop.time() - begun  # about as long as a call takes on this machine now
            except asyncio.CancelledError:
                self.counts[f"{way} canceled"] += 1
                self.counts["canceled"] += 1
                self._seconds[way] *= 1.02

    async def _read_on(self, way: str) -> None:
        while not self._is_over.is_set():
            number = self._chance.randrange(DOCUMENTS)
            check(number, await self._ways[way](number))
            self.counts[f"read by {way}"] += 1

    def _read_in_thread(self) -> None:
        while not self._is_over.is_set():
            number = random.randrange(DOCUMENTS)
            (found,) = self._retriever.get([f"d{number}"])
            check(number, found.page_content)
            self.counts["read by get"] += 1

    async def _aget(self, number: int) -> str:
        (found,) = await self._retriever.aget([f"d{number}"])
        return found.page_content

    async def _around(self, number: int) -> str:
        return str(await self._read_around.ainvoke({"doc_id": f"d{number}", "first": 0, "last": SENTENCES - 1}))

    async def _fetch(self, number: int) -> str:
        result = await self._client.call_tool("fetch", {"id": f"d{number}"})
        return str(result.structured_content)


async def canceled(retriever: SentenceWindowRetriever, chance: random.Random) -> Counter[str]:
    """Cancel calls in an event loop of their own, which waits for their threads when it ends."""
    async with Client(create_mcp_server(retriever)) as client:
        playing = Round(retriever, client, chance)
        await playing.play()
    return playing.counts


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Cancel calls, and compare what others read."""
    store = FaissStore(WordEmbeddings(), folder / "index")
    retriever = SentenceWindowRetriever(vectorstore=store)
    texts = {f"d{number}": text_of(number) for number in range(DOCUMENTS)}
    retriever.add_documents([Document(page_content=text, id=name) for name, text in texts.items()])
    threads = others()
    counts = asyncio.run(canceled(retriever, chance))
    retriever.delete(["d0"])
    assert not keeps_a_state(folder / "index"), "the log can't be emptied, as if a state were still read"
    within(PATIENCE, "closing", store.close)
    assert others() <= threads, f"threads go on: {others() - threads}"
    assert not open_files(folder), f"files are left open: {open_files(folder)}"
    return counts


def others() -> set[str]:
    """Return the names of the threads that run, besides those in which all flows of the process compute."""
    return {each.name for each in threading.enumerate() if not each.name.startswith("sentence-window-flow")}


def open_files(folder: Path) -> list[str]:
    """Return the files of a folder that this process has open, where the system says so."""
    found = list[str]()
    for each in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):  # that of this listing
            found.append(str(each.readlink()))
    return [each for each in found if each.startswith(str(folder))]


def torture(rounds: int = 100, seed: int = 0) -> Counter[str]:
    """Play so many rounds, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, seconds=SECONDS, batch=10)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=100, seconds=SECONDS, batch=10)
