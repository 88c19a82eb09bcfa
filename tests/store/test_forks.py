"""Processes that are forked from one that uses a store: both go on, or are told what to do."""

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
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.limits import lower
warnings.simplefilter("ignore", DeprecationWarning)
path, arguments = sys.argv[1] or None, sys.argv[2:]
context = multiprocessing.get_context("fork")

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


BOTH = """
def child(store, queue):
    # The parent may have written one more by now.
    assert len(store.similarity_search("x", k=99)) in (80, 88)
    store.replace_documents(document(20, 1), ["document 20"])
    check_against_brute_force(store, TextEmbeddings())
    queue.put(sorted(contents(store)))

lower()  # so few sentences have codes
store = filled(path, 10, index=arguments[0])
store.similarity_search("x"), store.lexical_search("x")
queue = context.Queue()
process = context.Process(target=child, args=(store, queue))
process.start()
store.replace_documents(document(30, 1), ["document 30"])
seen = queue.get(timeout=PATIENCE)
process.join(PATIENCE)
assert process.exitcode == 0
assert set(seen) - {30} == {*range(10), 20}, seen
assert sorted(contents(store)) == [*range(10), *([20] if path else []), 30]
check_against_brute_force(store, TextEmbeddings())
store.close()
if path:
    with FaissStore.open(path, TextEmbeddings()) as store:
        assert sorted(contents(store)) == [*range(10), 20, 30]
"""


@in_file_and_in_memory
@pytest.mark.parametrize("index", ["exact", "codes"])
def test_both_processes_go_on(in_memory: bool, index: str, tmp_path: Path) -> None:
    check(BOTH, None if in_memory else tmp_path, index)


PARENT_CLOSES = """
store = filled(path, 10)
store.similarity_search("x")
export = store.export()
next(export)
may_write, has_written = context.Event(), context.Event()

def child():
    store.replace_documents(document(20, 0), ["document 20"])
    has_written.set()
    assert may_write.wait(PATIENCE)
    store.replace_documents(document(21, 0), ["document 21"])

process = in_child(child)
assert has_written.wait(PATIENCE)
store.close()
may_write.set()
wait(process)
with FaissStore.open(path, TextEmbeddings()) as store:
    assert sorted(contents(store)) == [*range(10), 20, 21]
"""


def test_what_a_child_writes_is_kept_though_its_parent_closes_the_store(tmp_path: Path) -> None:
    """The locks of a file are those of a process, so a child must not rely on those of its parent."""
    check(PARENT_CLOSES, tmp_path)


EXPORTING = """
import langchain_sentence_window.store.faiss_store
langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE = 16

def rest_of(export):
    return list(chain.from_iterable(documents for documents, _ in export))

store = filled(path, 10)
every = rest_of(store.export())
exports = [store.export() for _ in range(3)]
begun = [rest_of([next(export)]) for export in exports]
begun[1] += rest_of([next(exports[1])])
has_read = context.Event()

def child():
    assert rest_of(exports[0]) == every[len(begun[0]):]
    has_read.set()
    store.add_documents(document(20, 0))

process = in_child(child)
assert has_read.wait(PATIENCE)
store.replace_documents(document(30, 1), ["document 30"])
wait(process)
assert [given + rest_of(export) for export, given in zip(exports, begun)] == [every] * 3
assert {30, *([20] if path else [])} < set(contents(store))
"""


@in_file_and_in_memory
def test_an_export_goes_on(in_memory: bool, tmp_path: Path) -> None:
    check(EXPORTING, None if in_memory else tmp_path)


WRITTEN_IN_BETWEEN = """
import langchain_sentence_window.store.faiss_store
langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE = 16
store = filled(path, 10)
export = store.export()
next(export)
wait(in_child(lambda: store.add_texts(["b"])))
try:
    list(export)
except StoreError as error:
    assert "changes too often to be read in one state" in str(error), error
else:
    raise AssertionError("two states were exported as one")
assert len(list(store.export())) > 1
"""
WAITING = """
import os
os.register_at_fork(after_in_parent=lambda: os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT))
"""


def test_an_export_does_not_go_on_with_another_state(tmp_path: Path) -> None:
    """The child writes before the parent goes on."""
    done = run_code(WAITING + BEFORE + WRITTEN_IN_BETWEEN, tmp_path)
    assert done.returncode == 0, done.stderr


FORKING_THREADS = """
store = filled(path, 10)
over = threading.Event()

def use():
    while not over.is_set():
        store.similarity_search("x", k=99), store.lexical_search("d1"), store.hybrid_search("d1")

def child():
    assert len(store.similarity_search("x", k=8)) == 8
    assert len(store.lexical_search("d1", k=8)) == 8
    store.add_texts(["from a child"])

def work(number):
    for _ in range(2):
        if number % 2:
            wait(in_child(child))
        else:
            store.add_texts([f"t{number}"])

with ThreadPoolExecutor(16) as threads:
    using = [threads.submit(use) for _ in range(8)]
    list(threads.map(work, range(6)))
    over.set()
    for each in using:
        each.result(PATIENCE)
assert len(store) == 80 + 6 + (6 if path else 0)
store.close()
if path:
    with FaissStore.open(path, TextEmbeddings()) as store:
        assert len(store) == len(store.similarity_search("x", k=999)) == 92
"""


@in_file_and_in_memory
def test_threads_fork_while_others_search_and_write_all_the_time(in_memory: bool, tmp_path: Path) -> None:
    check(FORKING_THREADS, None if in_memory else tmp_path)


WITHIN_A_CALL = """
import langchain_sentence_window.store.database
langchain_sentence_window.store.database._SECONDS_BEFORE_FORK = 0.1  # a private name, as the test would take longer
store = filled(path, 10)
begun, may_end = threading.Event(), threading.Event()

def rank(candidates):
    begun.set()
    assert may_end.wait(PATIENCE)
    return candidates.dense

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
    searching = thread.submit(store.hybrid_search, "document d3", k=8, rank=rank)
    begun.wait(PATIENCE)
    process = in_child(child)
    may_end.set()
    assert len(searching.result(PATIENCE)) == 8
wait(process)
store.add_texts(["x"])
assert len(store) == 81
"""


@in_file_and_in_memory
def test_a_child_is_told_if_a_call_did_not_end_before_the_fork(in_memory: bool, tmp_path: Path) -> None:
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
