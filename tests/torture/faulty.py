"""Rounds that fail in each possible way, to check that failures of real rounds would be reported.

python -m tests.torture.faulty
"""

import ctypes
import random
import threading
from collections import Counter
from pathlib import Path

from tests.torture.rounds import main, play_rounds

MODULE = "tests.torture.faulty"
SECONDS = 5.0


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Fail, in most rounds."""
    way = chance.randrange(4)
    if way == 1:
        ctypes.string_at(0)
    if way == 2:
        threading.Event().wait()
    assert way != 3, "something was lost"
    return Counter({"well": 1})


def torture(rounds: int = 12, seed: int = 0) -> Counter[str]:
    """Play so many rounds, most of which fail."""
    return play_rounds(MODULE, rounds, seed, seconds=SECONDS, most_faults=rounds)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=12, seconds=SECONDS)
