"""Short runs of the scripts that try to break a store: closes, interrupts, restores, forks, models, moved folders,
folders of strangers, canceled calls.

The first test checks that rounds that crash, hang or fail are reported.
"""

import sys
from collections.abc import Callable
from functools import partial

import pytest

from langchain_sentence_window.documents.keys import sentence_id
from tests.torture import (
    canceling,
    closing,
    crash_images,
    embedders,
    faulty,
    folders,
    forking,
    interrupts,
    opcodes,
    reading,
    restoring,
    swapping,
)
from tests.torture.rounds import FaultsFoundError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these signals nor forks"),
]


def test_rounds_that_crash_hang_or_fail_are_told() -> None:
    with pytest.raises(FaultsFoundError) as told:
        faulty.torture(6, seed=1)
    _, _, summary = str(told.value).rpartition("\n\n")
    head, *kinds = summary.splitlines()
    assert head.startswith("5 faults in 6 rounds; ")
    assert sorted(kinds) == [
        "    1 hangs until it is ended",
        "    2 AssertionError: something was lost",
        "    2 died of SIGSEGV",
    ]


def test_a_call_is_struck_at_each_of_its_instructions() -> None:
    call = partial(sentence_id, "a", 1)
    run = opcodes.instructions(call)
    assert len(run) > 5

    def action() -> None:
        raise ZeroDivisionError

    for at in range(len(run)):
        with pytest.raises(ZeroDivisionError):
            opcodes.strike(call, at, action)
    opcodes.strike(call, len(run), pytest.fail)


@pytest.mark.parametrize(
    ("torture", "rounds"),
    [
        (closing.torture, 10),
        (interrupts.torture, 16),
        (restoring.torture, 5),
        (forking.torture, 2),
        (embedders.torture, 4),
        (swapping.torture, 6),
        (folders.torture, 2),
        (reading.torture, 3),
        (canceling.torture, 1),
    ],
    ids=["closing", "interrupts", "restoring", "forking", "embedders", "swapping", "folders", "reading", "canceling"],
)
def test_nothing_is_lost_mixed_or_hung(torture: Callable[[int, int], dict[str, int]], rounds: int) -> None:
    assert torture(rounds, 5)["rounds"] == rounds


@pytest.mark.skipif(crash_images.compiler() is None, reason="needs a C compiler and Linux")
def test_a_power_failure_loses_nothing_that_was_acknowledged() -> None:
    counts = crash_images.torture(1, seed=5)
    assert counts["images"] > crash_images.IMAGES // 2
