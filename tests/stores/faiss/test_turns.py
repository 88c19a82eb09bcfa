"""Turns of searching threads."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from langchain_sentence_window._io import COMPUTING_THREADS
from langchain_sentence_window.stores.faiss.database import locks as turns
from langchain_sentence_window.stores.faiss.database.locks import Turns, within
from tests.patience import PATIENCE


class Crowd:
    """Counts how many are in at once; each waits until so many are in."""

    def __init__(self, at_once: int) -> None:
        self.inside, self.most = 0, 0
        self._lock, self._all_in = threading.Lock(), threading.Barrier(at_once, timeout=PATIENCE)

    def work(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self._all_in.wait()
        time.sleep(0.005)  # in which one too many would come
        with self._lock:
            self.inside -= 1


def run_in(given: Turns, work: Callable[[], Any]) -> Any:
    """Run a function when it is this thread's turn."""
    return within([given], work)


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_WAIT_SECONDS", PATIENCE)


def run_in_threads(work: Callable[[], object], threads: int = 8, times: int = 30) -> None:
    """Call a function many times, by several threads at once."""
    with ThreadPoolExecutor(threads) as pool:
        for call in [pool.submit(work) for _ in range(times)]:
            call.result(PATIENCE)


@pytest.mark.usefixtures("_patient")
@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_threads_run_than_are_allowed(at_once: int) -> None:
    crowd, given = Crowd(at_once), Turns(at_once)
    run_in_threads(lambda: run_in(given, crowd.work))
    assert crowd.most == at_once


def test_what_is_run_returns_and_raises_as_without_turns() -> None:
    given = Turns(1)
    assert run_in(given, lambda: 3) == 3

    def fail() -> None:
        raise KeyError("told")

    for _ in range(3):
        with pytest.raises(KeyError, match="told"):
            run_in(given, fail)
    assert run_in(given, lambda: 4) == 4


@pytest.mark.usefixtures("_patient")
def test_a_thread_does_not_wait_for_itself() -> None:
    given = Turns(1)
    assert run_in(given, lambda: run_in(given, lambda: run_in(given, lambda: "inside"))) == "inside"
    crowd = Crowd(1)
    run_in_threads(lambda: run_in(given, lambda: run_in(given, crowd.work)))
    assert crowd.most == 1


@pytest.mark.usefixtures("_patient")
def test_turns_that_do_not_end_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given, end = Turns(2), threading.Event()
    stuck = [threading.Thread(target=run_in, args=(given, lambda: end.wait(PATIENCE))) for _ in range(2)]
    for thread in stuck:
        thread.start()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(turns, "MAX_WAIT_SECONDS", 0.05)
            assert run_in(given, lambda: "not held up") == "not held up"
        # Turns are taken as if the stuck ones didn't exist.
        crowd = Crowd(2)
        run_in_threads(lambda: run_in(given, crowd.work))
        assert crowd.most == 2
    finally:
        end.set()
        for thread in stuck:
            thread.join()
    crowd = Crowd(2)
    run_in_threads(lambda: run_in(given, crowd.work))
    assert crowd.most == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_waits_for_no_thread_that_it_does_not_have() -> None:
    inside, end = threading.Barrier(COMPUTING_THREADS + 1), threading.Event()

    def stay() -> None:
        inside.wait(PATIENCE)
        end.wait(PATIENCE)

    stuck = [threading.Thread(target=run_in, args=(turns.SEARCHES, stay)) for _ in range(COMPUTING_THREADS)]
    for thread in stuck:
        thread.start()
    inside.wait(PATIENCE)
    try:
        child = os.fork()
        if not child:
            free = turns.SEARCHES._free
            run_in(turns.SEARCHES, lambda: None)
            os._exit(0 if turns.SEARCHES._free is free else 1)  # who waits in vain makes new turns
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        end.set()
        for thread in stuck:
            thread.join()
