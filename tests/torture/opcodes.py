"""Running code before a chosen instruction of a call, where its process could be killed."""

import contextlib
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import langchain_sentence_window

Instruction = tuple[CodeType, int]
"""An instruction, by its position in its code."""

_STRUCK_AT = tuple(
    str(Path(str(module.__file__)).parent if is_folder else module.__file__)
    for module, is_folder in (
        (langchain_sentence_window, True),
        (sqlite3, True),
        (tempfile, False),
        (shutil, False),
    )
)


def instructions(call: Callable[[], object]) -> list[Instruction]:
    """Make a call, and return the instructions that it ran in this thread, in order."""
    run = list[Instruction]()
    with _traced(lambda code, offset: run.append((code, offset))):
        call()
    return run


def choose(run: list[Instruction], chance: random.Random) -> int | None:
    """Choose the number of an instruction; all positions in the code are equally likely, however often they run."""
    places: dict[Instruction, list[int]] = {}
    for number, place in enumerate(run):
        places.setdefault(place, []).append(number)
    return chance.choice(chance.choice(list(places.values()))) if places else None


def strike(call: Callable[[], object], at: int, action: Callable[[], object]) -> None:
    """Make a call, and run an action before its instruction of that number, which raises the action's exceptions."""
    left = [at]

    def see(code: CodeType, offset: int) -> None:
        left[0] -= 1
        if left[0] == -1:
            action()

    with _traced(see):
        call()


See = Callable[[CodeType, int], None]


def _traced(see: See) -> contextlib.AbstractContextManager[None]:
    return _monitored(see) if sys.version_info >= (3, 12) else _by_settrace(see)


@contextmanager
def _by_settrace(see: See) -> Iterator[None]:
    def on_event(frame: FrameType, event: str, _: object) -> Any:
        if event == "call":
            if not frame.f_code.co_filename.startswith(_STRUCK_AT):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            see(frame.f_code, frame.f_lasti)
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _monitored(see: See) -> Iterator[None]:
    # From Python 3.12 on, f_trace_opcodes misses the frame that sets it.
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool, event, thread = monitoring.PROFILER_ID, monitoring.events.INSTRUCTION, threading.get_ident()

    def on_instruction(code: CodeType, offset: int) -> Any:
        if not code.co_filename.startswith(_STRUCK_AT):
            return monitoring.DISABLE
        if threading.get_ident() == thread:
            see(code, offset)
        return None

    monitoring.use_tool_id(tool, "torture")
    monitoring.register_callback(tool, event, on_instruction)
    monitoring.set_events(tool, event)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
