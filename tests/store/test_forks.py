"""Exports and calls that run while a process forks; `tests.torture.forking` tests the rest."""

import os
from pathlib import Path

import pytest

from tests.interpreters import run_code, run_python

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork"),
]
in_file_and_in_memory = pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])

BEFORE = """
import multiprocessing, os, sys, threading, warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import filled
from tests.torture.corpus import TextEmbeddings, contents, document
warnings.simplefilter("ignore", DeprecationWarning)
path, arguments = sys.argv[1] or None, sys.argv[2:]

def in_child(work):
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child

def wait(*children):
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)
"""


def check(code: str, path: Path | None, *arguments: object) -> None:
    """Run code in a process, which may fork others."""
    done = run_code(BEFORE + code, path or "", *arguments)
    assert done.returncode == 0, done.stderr


EXPORTING = """
import langchain_sentence_window.store.faiss_store
langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE = 16

def rest_of(export):
    return list(chain.from_iterable(documents for documents, _ in export))

store = filled(path, 10)
every = rest_of(store.export())
goes_on, is_late = store.export(), store.export()
begun = rest_of([next(goes_on)])
next(is_late)

def child():
    assert begun + rest_of(goes_on) == every

wait(in_child(child))
assert begun + rest_of(goes_on) == every
store.replace_documents(document(30, 1), ["document 30"])
try:
    list(is_late)
except StoreError as error:
    assert path and "changes too often to be read in one state" in str(error), error
else:
    assert not path, "two states were exported as one"
"""


@in_file_and_in_memory
def test_an_export_goes_on_unless_the_store_was_written_since(in_memory: bool, tmp_path: Path) -> None:
    check(EXPORTING, None if in_memory else tmp_path)


WITHIN_A_CALL = """
import langchain_sentence_window.store.database
langchain_sentence_window.store.database._SECONDS_BEFORE_FORK = 0.1  # a private name, as the test would take longer
store = filled(path, 10)
store.lexical_search("x")  # brings the lexical index up to date
begun, may_end = threading.Event(), threading.Event()

def read(state):
    begun.set()
    assert may_end.wait(PATIENCE)
    return state.matching("document d3", 8, None)

def child():
    try:
        store.similarity_search("x")
    except StoreError as error:
        assert "was in use when the process forked; open it again in this process" in str(error), error
    else:
        raise AssertionError("a store was used in any state")
    store.close()
    if path:
        with FaissStore.open(path, TextEmbeddings()) as again:
            assert len(again.similarity_search("x", k=99)) == 80

with ThreadPoolExecutor(1) as thread:
    searching = thread.submit(store.read, read)
    begun.wait(PATIENCE)
    process = in_child(child)
    may_end.set()
    assert len(searching.result(PATIENCE)) == 8
wait(process)
store.add_texts(["x"])
assert len(store) == 81
"""


@in_file_and_in_memory
def test_a_child_is_refused_if_a_call_did_not_end_before_the_fork(in_memory: bool, tmp_path: Path) -> None:
    check(WITHIN_A_CALL, None if in_memory else tmp_path)


SPAWNED = """
from langchain_sentence_window.errors import StoreError

def child(path):
    with FaissStore.open(path, TextEmbeddings()) as store:
        store.add_documents(document(20, 0))

if __name__ == "__main__":
    store = filled(path, 10)
    try:
        multiprocessing.get_context(arguments[0]).Process(target=child, args=(store,)).start()
    except StoreError as error:
        assert "open it again where you need it, also in another process: FaissStore.open(" in str(error), error
    else:
        raise AssertionError
    process = multiprocessing.get_context(arguments[0]).Process(target=child, args=(path,))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert sorted(contents(store)) == [*range(10), 20]
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_is_not_forked_opens_the_store_itself(method: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(BEFORE + SPAWNED, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = run_python(tmp_path / "script.py", tmp_path / "index", method, env=env, spawns=True)
    assert done.returncode == 0, done.stderr
