"""Playing rounds in separate processes, where crashes and hangs are noticed, counted and reported.

A script provides a function that plays one round: it takes a source of chance and an empty folder, and returns counts,
or raises. Each round has its own chance, so ``--only 17`` repeats round 17.
"""

import argparse
import faulthandler
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
"""The folder in which ``python -m tests.torture.…`` is run."""

MOST_FAULTS = 5
"""The number of faults after which a run ends by default."""

MOST_SHOWN = 5_000
"""The number of characters to show from the beginning and from the end of a process's output."""

SECONDS = 3 * PATIENCE
"""The seconds after which a round counts as hanging by default; one that plays well takes a few."""

Play = Callable[[random.Random, Path], Mapping[str, int]]


class FaultsFoundError(AssertionError):
    """Some rounds failed; the message counts the kinds of failures, with an example of each."""


def play_rounds(
    module: str, rounds: int, seed: int, *, seconds: float = SECONDS, batch: int = 25, most_faults: int = MOST_FAULTS
) -> Counter[str]:
    """Play rounds of a script, some in each process, and return their counts.

    Args:
        module: The script's name, e.g. ``tests.torture.forking``.
        rounds: The number of rounds.
        seed: The seed of all chance.
        seconds: The seconds after which a round counts as hanging.
        batch: The number of rounds in each process, if none fails.
        most_faults: The number of faults after which to give up.

    Raises:
        FaultsFoundError: A round raised, crashed its process or hung.
    """
    counts, faults, first = Counter[str](), list[str](), 0
    while first < rounds and len(faults) < most_faults:
        last = min(first + batch, rounds)
        played, counted, how = _play_in_process(module, first, last, seed, seconds)
        counts += counted
        counts["rounds"] += played
        first += played
        if first < last:
            faults.append(f"round {first} of seed {seed}: {how}")
            counts["rounds"] += 1
            first += 1
    if faults:
        kinds = Counter(map(_kind, faults))
        examples = {_kind(fault): fault for fault in reversed(faults)}
        listed = "\n".join(f"{count:5} {kind}" for kind, count in kinds.most_common())
        details = "\n\n".join(examples[kind] for kind, _ in kinds.most_common())
        raise FaultsFoundError(
            f"{details}\n\n{len(faults)} faults in {counts['rounds']} rounds; {dict(counts)}\n{listed}"
        )
    return counts


def main(
    description: str | None, module: str, play: Play, *, rounds: int, seconds: float = SECONDS, batch: int = 25
) -> None:
    """Run a script: play rounds in processes, one round in this one, or those that another process asks for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=int, default=MOST_FAULTS, help="faults to see before giving up")
    parser.add_argument("--only", type=int, help="play this round alone, in this process")
    parser.add_argument("--play", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=seconds, help="after which a round is taken to hang")
    arguments = parser.parse_args()
    if arguments.play:
        _play_here(play, *arguments.play, seed=arguments.seed, seconds=arguments.seconds)
    elif arguments.only is not None:
        _play_here(play, arguments.only, arguments.only + 1, seed=arguments.seed, seconds=arguments.seconds)
    else:
        given = {"seconds": arguments.seconds, "batch": batch, "most_faults": arguments.faults}
        try:
            print(dict(play_rounds(module, arguments.rounds, arguments.seed, **given)))
        except FaultsFoundError as found:
            sys.exit(str(found))


def within(seconds: float, what: str, work: Callable[[], Any]) -> Any:
    """Run a function in a thread, and return its result.

    Raises:
        AssertionError: It takes so long that it must be waiting for a lock that no thread releases.
    """
    results, errors = list[Any](), list[BaseException]()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        faulthandler.dump_traceback()
        raise AssertionError(f"{what}: hangs, as if a lock had been left")
    if errors:
        raise errors[0]
    return results[0]


def python(code: str, *arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """Start a process that runs some Python code."""
    command = [sys.executable, "-X", "faulthandler", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, **settings)


def how_it_ended(code: int) -> str:
    """Describe how a process ended."""
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


# One process that plays rounds


def _play_here(play: Play, first: int, last: int, *, seed: int, seconds: float) -> None:
    faulthandler.enable()
    unseen = list[str]()
    sys.unraisablehook = lambda seen: _note(unseen, seen.exc_value)
    threading.excepthook = lambda seen: _note(unseen, seen.exc_value)
    for number in range(first, last):
        # Not a TemporaryDirectory, which a process that is forked would remove at its end.
        folder = Path(tempfile.mkdtemp(prefix="torture"))
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            counted = play(random.Random(f"{seed}:{number}"), folder)
            assert not unseen, f"an unhandled exception: {unseen[0]}"
        except BaseException:  # noqa: BLE001 - reported, and threads that hang are left where they are
            _give_up(number)
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(folder, ignore_errors=True)
        print("played", number, json.dumps(dict(counted)), flush=True)


def _note(unseen: list[str], error: BaseException | None) -> None:
    if not isinstance(error, KeyboardInterrupt):
        unseen.append("".join(traceback.format_exception(error)))


def _give_up(number: int) -> NoReturn:
    traceback.print_exc()
    print("failed", number, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)


def _play_in_process(module: str, first: int, last: int, seed: int, seconds: float) -> tuple[int, Counter[str], str]:
    """Return the number of rounds played, their counts, and how the process ended if it didn't play all of them."""
    command = [sys.executable, "-m", module, "--play", str(first), str(last), "--seed", str(seed)]
    # Files, as a process that was forked and hangs would keep a pipe open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command, "--seconds", str(seconds)], stdout=out, stderr=errors, cwd=ROOT, start_new_session=True
        )
        try:
            how = how_it_ended(process.wait(seconds * (last - first) + 60))
        except subprocess.TimeoutExpired:
            how = "hangs"
        finally:
            _end_all_of(process)
        out.seek(0)
        errors.seek(0)
        lines, stderr = [line for line in out if line.startswith("played ")], errors.read()
    counts = Counter[str]()
    for line in lines:
        counts.update(json.loads(line.split(" ", 2)[2]))
    shown = stderr if len(stderr) < 2 * MOST_SHOWN else f"{stderr[:MOST_SHOWN]}\n…\n{stderr[-MOST_SHOWN:]}"
    return len(lines), counts, f"{how}\n{shown}"


def _end_all_of(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here, and the processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kind(fault: str) -> str:
    """Return the part of a fault that is the same for all of its kind."""
    if "Timeout (" in fault:
        return "hangs until it is ended"
    lines = [line for line in fault.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Interrupt|Exit|Exception)\b", line)]
    summary = errors[-1] if errors else lines[0].split(": ", 1)[1]
    return re.sub(r"\d+", "N", re.sub(r"/\S+", "PATH", summary))[:160]
