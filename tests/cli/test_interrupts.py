"""Ctrl-C is never lost."""

import signal
import sys
import threading
from collections.abc import Callable

import pytest

from langchain_sentence_window.apps.cli.index_sync import InterruptedEvent


class Interrupting:
    """Is interrupted while it is finalized."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def interrupted(stop: InterruptedEvent, work: Callable[[], object]) -> bool:
    """Run a function in the block that Ctrl-C ends; return whether that raised `KeyboardInterrupt`."""
    try:
        with stop.set_by_interrupts():
            work()
    except KeyboardInterrupt:
        return True
    return False


def test_ctrl_c_ends_the_block() -> None:
    stop, before = InterruptedEvent(), signal.getsignal(signal.SIGINT)
    done: list[str] = []

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("what comes after")

    assert interrupted(stop, work)
    assert not done
    assert stop.is_set()
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_that_python_drops_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    stop, seen = InterruptedEvent(), list[bool]()

    def work() -> None:
        seen.append(stop.wait(0))
        Interrupting()
        seen.extend([stop.is_set(), stop.wait(0)])

    assert interrupted(stop, work)
    assert seen == [False, True, True]
    assert dropped == [KeyboardInterrupt]


def test_it_is_an_event() -> None:
    stop = InterruptedEvent()
    with stop.set_by_interrupts():
        assert not stop.is_set()
        stop.set()
        assert stop.is_set()
        assert stop.wait(5)


def test_in_another_thread_ctrl_c_is_left_alone() -> None:
    handlers: list[object] = []

    def enter() -> None:
        with InterruptedEvent().set_by_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [before]
