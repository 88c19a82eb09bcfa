"""Sync a folder of a stranger, who swaps links into it meanwhile, and whose PDFs kill their reader.

    python -m tests.torture.folders [--rounds 50]

A thread replaces files and folders by links that lead out of the given folder, and puts them back, while another syncs
again and again. No text from outside is indexed, or sent to the embedder. Once the stranger has gone, one sync indexes
all files that can be read, as they are, and names the others as failed. The given folder itself stays where it is: a
link that is given is followed.
"""

import random
import threading
import time
from collections import Counter
from pathlib import Path

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.folders import sync_files
from tests.loaders.pdf.drawing import drawn, lines
from tests.loaders.pdf.hostile import endless_labels
from tests.patience import PATIENCE
from tests.torture.corpus import TextEmbeddings
from tests.torture.rounds import main, play_rounds

MODULE = "tests.torture.folders"
PLACES = ("", "a", "a/b", "c")
"""The folders below the given one."""

NUMBERS = range(3)
"""The numbers of the files in each."""

OUTSIDE = "outside"
"""The word of all texts outside of the folder."""

SYNCS = 5
"""The syncs while links are swapped."""


class Watching(TextEmbeddings):
    """Embeds, and remembers whether a text from outside came along."""

    leaked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.leaked += sum(OUTSIDE in text for text in texts)
        return super().embed_documents(texts)


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Sync a folder while links are swapped into it."""
    docs, killers = folder / "docs", set[str]()
    texts = fill(docs, "inside", chance)
    fill(folder / "other", OUTSIDE, chance)
    for place in chance.sample(PLACES, 2):
        killer = docs / place / f"{chance.randrange(10)}k.pdf"
        killer.write_bytes(endless_labels())
        killers.add(str(killer))
    embedding, counts = Watching(), Counter[str]()
    with FaissStore(embedding, folder / "index") as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        stop = threading.Event()
        swapper = threading.Thread(target=swap, args=(docs, folder / "other", random.Random(chance.random()), stop))
        swapper.start()
        for _ in range(SYNCS):
            result = sync_files(retriever, docs, delete=chance.random() < 0.5)
            counts["links met"] += sum(each not in killers for each in result.failed)
        stop.set()
        swapper.join(PATIENCE)
        assert not swapper.is_alive(), "the swapping hangs"
        result = sync_files(retriever, docs, delete=True)
        assert {*result.failed, *result.known_failed} == killers, result
        found = {each.doc_id: retriever.get([each.doc_id])[0].page_content for each in retriever.documents()}
        assert found == texts, "the index isn't what the folder holds"
        assert not embedding.leaked, f"{embedding.leaked} texts from outside were read"
    return counts


def fill(folder: Path, word: str, chance: random.Random) -> dict[str, str]:
    """Write files, and return their texts by their paths."""
    texts = {}
    for place in PLACES:
        (folder / place).mkdir(parents=True, exist_ok=True)
        for number in NUMBERS:
            text = f"A {word} text, number {number} of {place or 'the root'}."
            path = folder / place / f"{number}.{'pdf' if (number + len(place)) % 2 else 'md'}"
            path.write_bytes(drawn(lines(text)) if path.suffix == ".pdf" else text.encode())
            texts[str(path)] = text
    return texts


def swap(docs: Path, other: Path, chance: random.Random, stop: threading.Event) -> None:
    """Replace a file or a folder by a link that leads out, and put it back, until the event is set."""
    aside = docs.with_name("aside")
    while not stop.is_set():
        place = docs / chance.choice(PLACES)
        path = chance.choice([*([] if place == docs else [place]), *sorted(filter(Path.is_file, place.iterdir()))])
        path.rename(aside)
        path.symlink_to(other / path.relative_to(docs))
        time.sleep(chance.random() * 0.01)
        path.unlink()
        aside.rename(path)
        time.sleep(chance.random() * 0.01)


def torture(rounds: int = 50, seed: int = 0) -> Counter[str]:
    """Sync so many folders, and count the links that were met."""
    return play_rounds(MODULE, rounds, seed, batch=5)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=50, batch=5)
