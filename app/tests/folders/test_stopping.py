"""A sync in another process that is stopped: by Ctrl-C, or killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.tests.files.writing import file
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from sentence_window.folders import sync_files
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings

ROOT = Path(__file__).parents[3]
FILES, BATCH = 40, 4
CODE = f"""
import sys, time
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from sentence_window.folders import sync_files
from sentence_window.folders import file_sync as syncing
from tests.toys import WordEmbeddings

class Slow(WordEmbeddings):
    def embed_documents(self, texts):
        time.sleep(0.1)
        return super().embed_documents(texts)

syncing.MAX_BATCH_FILES = {BATCH}
retriever = SentenceWindowRetriever(vectorstore=FaissStore(Slow(), sys.argv[1]))
def report(progress):
    print(progress.done, flush=True)
    if progress.done == {FILES - BATCH}:
        time.sleep({PATIENCE})  # it is stopped before it is done, however late that is

sync_files(retriever, sys.argv[2], on_progress=report)
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_the_index_is_good_and_the_next_sync_goes_on(tmp_path: Path, stop: signal.Signals) -> None:
    names = [str(file(tmp_path / "docs" / f"{number:02}.md", f"A refund of {number}.")) for number in range(FILES)]
    command = [sys.executable, "-c", CODE, str(tmp_path / "index"), str(tmp_path / "docs")]
    # A shell that runs tests in the background may ignore Ctrl-C, and so would what it starts.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env={**os.environ}
        )
    finally:
        signal.signal(signal.SIGINT, usual)
    assert started.stdout is not None
    end = time.monotonic() + PATIENCE
    for line in started.stdout:
        assert time.monotonic() < end
        if int(line) >= 2 * BATCH:
            break
    started.send_signal(stop)
    started.stdout.close()
    assert started.wait(PATIENCE) != 0
    words = WordEmbeddings()
    with FaissStore(words, tmp_path / "index") as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        held = [each.doc_id for each in retriever.documents()]
        assert held == names[: len(held)]
        assert 2 * BATCH <= len(held) < FILES
        assert len(held) % BATCH == 0
        result = sync_files(retriever, tmp_path / "docs")
        assert (list(result.unchanged), list(result.added)) == (held, names[len(held) :])
        new = [f"A refund of {number}." for number in range(len(held), FILES)]
        assert [text for text in words.embedded if text in new] == new  # others are asked to know the embedder again
        assert {each.doc_id for each in retriever.documents()} == set(names)
