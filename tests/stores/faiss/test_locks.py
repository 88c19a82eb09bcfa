"""The lock that is released whatever happens: who waits for whom, and exceptions at every instruction."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from langchain_sentence_window.stores.faiss.database.locks import AccessLock, ClosedError, NestedWriteError
from tests.patience import PATIENCE


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_readers_are_in_together_and_a_writer_is_alone() -> None:
    lock, both_in, log = AccessLock(), threading.Barrier(2), list[str]()

    def read() -> None:
        lock.read(both_in.wait)
        log.append("read")

    readers = [in_thread(read), in_thread(read)]
    for reader in readers:
        reader.join(PATIENCE)
    assert log == ["read", "read"]

    entered, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        may_end.wait(PATIENCE)
        log.append("held")

    reader = in_thread(lambda: lock.read(hold))
    entered.wait(PATIENCE)
    writer = in_thread(lambda: lock.write(lambda: log.append("written")))
    may_end.set()
    reader.join(PATIENCE)
    writer.join(PATIENCE)
    assert log == ["read", "read", "held", "written"]


def test_writers_that_let_readers_in_wait_for_each_other_alone() -> None:
    lock = AccessLock(writers_exclude_readers=False)
    entered, may_end, log = threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        entered.set()
        may_end.wait(PATIENCE)
        log.append("first")

    first = in_thread(lambda: lock.write(hold))
    entered.wait(PATIENCE)
    assert lock.read(lambda: "read") == "read"
    second = in_thread(lambda: lock.write(lambda: log.append("second")))
    may_end.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert log == ["first", "second"]


def test_closing_waits_for_those_that_are_in_and_lets_nobody_in() -> None:
    lock, entered, may_end, log = AccessLock(), threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        entered.set()
        may_end.wait(PATIENCE)
        log.append("read")

    reader = in_thread(lambda: lock.read(hold))
    entered.wait(PATIENCE)
    closer = in_thread(lambda: lock.close(lambda: log.append("closed")))
    while not lock.is_closed:
        threading.Event().wait(0.001)
    with pytest.raises(ClosedError):
        lock.read(lambda: log.append("late"))
    may_end.set()
    reader.join(PATIENCE)
    closer.join(PATIENCE)
    assert log == ["read", "closed"]


def test_closing_from_within_a_call_is_done_when_the_call_ends() -> None:
    lock, log = AccessLock(), list[str]()

    def close_and_go_on() -> None:
        lock.close(lambda: log.append("closed"))
        log.append("went on")

    lock.read(close_and_go_on)
    assert log == ["went on", "closed"]


def test_closing_from_within_a_call_does_not_wait_for_those_that_wait_for_it() -> None:
    """A signal handler may close a store during a search that another thread waits for."""
    lock, inner, log = AccessLock(), AccessLock(), list[str]()
    others_in = threading.Event()

    def search() -> None:
        other.start()
        others_in.wait(PATIENCE)
        lock.close(lambda: log.append("closed"))
        log.append("searched")

    def wait_for_the_search() -> None:
        others_in.set()
        inner.write(lambda: log.append("wrote"))

    other = threading.Thread(target=lambda: lock.read(wait_for_the_search), daemon=True)
    thread = in_thread(lambda: lock.read(lambda: inner.read(search)))
    thread.join(PATIENCE)
    other.join(PATIENCE)
    assert log == ["searched", "wrote", "closed"]


def test_a_thread_does_not_wait_for_itself() -> None:
    lock = AccessLock()
    assert lock.read(lambda: lock.read(lambda: 1)) == 1
    assert lock.write(lambda: lock.read(lambda: 2)) == 2
    with pytest.raises(NestedWriteError):
        lock.write(lambda: lock.write(lambda: 3))
    with pytest.raises(NestedWriteError):
        lock.read(lambda: lock.write(lambda: 4))
    assert lock.write(lambda: 5) == 5


def test_pausing_waits_for_others_and_lets_nobody_in() -> None:
    lock, entered, may_end = AccessLock(), threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        may_end.wait(PATIENCE)

    reader = in_thread(lambda: lock.read(hold))
    entered.wait(PATIENCE)
    assert lock.pause(0.01) is False
    may_end.set()
    assert lock.pause(PATIENCE) is True
    late = list[int]()
    waiting = in_thread(lambda: lock.read(lambda: late.append(1)))
    waiting.join(0.05)
    assert late == []
    lock.resume()
    waiting.join(PATIENCE)
    reader.join(PATIENCE)
    assert late == [1]


class _Stop(BaseException):
    pass


def test_what_is_last_is_done_once_wherever_two_calls_end_at_once() -> None:
    instruction = 1
    while closed_as_another_ends_at(instruction):
        instruction += 1
    assert instruction > 20


def closed_as_another_ends_at(instruction: int) -> bool:
    """Close from within a call, and end another call at one instruction of its end; return whether it has so many."""
    lock, entered, may_end, log = AccessLock(), threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        entered.set()
        may_end.wait(PATIENCE)

    other = in_thread(lambda: lock.read(hold))
    entered.wait(PATIENCE)

    def end_the_other() -> None:
        may_end.set()
        other.join(PATIENCE)

    was_met = met_at(
        instruction, end_the_other, lambda: lock.read(lambda: lock.close(lambda: log.append("closed"))), within="_end"
    )
    end_the_other()
    assert log == ["closed"], f"the other call ended before instruction {instruction}"
    return was_met


def interrupted_at(instruction: int, work: Callable[[], object]) -> bool:
    """Run a function, raise at one of its instructions, and return whether it has so many."""

    def stop() -> None:
        raise _Stop

    try:
        met_at(instruction, stop, work)
    except _Stop:
        return True
    return False


def met_at(instruction: int, action: Callable[[], object], work: Callable[[], object], within: str = "") -> bool:
    """Run a function, and another before one of its instructions; return whether it has so many."""
    left = instruction

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith("locks.py") or within not in frame.f_code.co_name:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                action()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return left <= 0


@pytest.mark.parametrize("way", ["read", "write"])
@pytest.mark.parametrize("excludes", [True, False])
def test_no_instruction_at_which_an_exception_leaves_the_lock_taken(way: str, excludes: bool) -> None:
    instruction = 0
    while True:
        instruction += 1
        lock = AccessLock(writers_exclude_readers=excludes)
        was_interrupted = interrupted_at(instruction, lambda lock=lock: getattr(lock, way)(lambda: None))  # type: ignore[misc]
        done = list[int]()
        other = in_thread(lambda lock=lock, done=done: lock.write(lambda: done.append(1)))  # type: ignore[misc]
        other.join(PATIENCE)
        assert done == [1], f"the lock is taken after an exception at instruction {instruction}"
        if not was_interrupted:
            break
    assert instruction > 50


@pytest.mark.parametrize("way", ["read", "write"])
def test_two_exceptions_in_the_midst_of_the_end_leave_no_lock_taken(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    end, ends = AccessLock._end, list[object]()

    def stop_twice(lock: AccessLock, token: object) -> None:
        ends.append(token)
        if len(ends) < 3:
            raise _Stop
        end(lock, token)

    monkeypatch.setattr(AccessLock, "_end", stop_twice)
    lock = AccessLock()
    with pytest.raises(_Stop):
        getattr(lock, way)(lambda: None)
    done = list[int]()
    in_thread(lambda: lock.write(lambda: done.append(1))).join(PATIENCE)
    assert done == [1]
