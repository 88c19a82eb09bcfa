"""Short runs of the scripts that try to break a store: interrupts, forks, canceled calls, power failures.

The first test checks that rounds that crash, hang or fail are reported.
"""

import sys
from collections.abc import Callable

import pytest

from tests.torture import crash_images, faulty, forking, interrupts, reading
from tests.torture.rounds import FaultsFoundError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these signals nor forks"),
]


def test_rounds_that_crash_hang_or_fail_are_reported() -> None:
    with pytest.raises(FaultsFoundError) as raised:
        faulty.torture(6, seed=1)
    _, _, summary = str(raised.value).rpartition("\n\n")
    head, *kinds = summary.splitlines()
    assert head.startswith("5 faults in 6 rounds; ")
    assert sorted(kinds) == [
        "    1 hangs until it is ended",
        "    2 AssertionError: something was lost",
        "    2 died of SIGSEGV",
    ]


@pytest.mark.parametrize(
    ("torture", "rounds"),
    [(interrupts.torture, 16), (forking.torture, 2), (reading.torture, 3)],
    ids=["interrupts", "forking", "reading"],
)
def test_no_write_is_lost_and_no_call_hangs(torture: Callable[[int, int], dict[str, int]], rounds: int) -> None:
    assert torture(rounds, 5)["rounds"] == rounds


@pytest.mark.skipif(crash_images.compiler() is None, reason="needs a C compiler and Linux")
def test_a_power_failure_loses_nothing_that_was_acknowledged() -> None:
    counts = crash_images.torture(1, seed=5)
    assert counts["images"] > crash_images.IMAGES // 2
