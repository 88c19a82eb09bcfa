r"""The words of a text: what a search by words compares, and what a question shares with a sentence.

A word is a run of letters and digits, the regular expression ``[^\W_]+``. Chinese and Japanese put no spaces between
words, and Korean puts none before endings. There, each pair of neighboring characters is a word, as in Lucene's
``CJKAnalyzer``; a character that stands alone is one, too.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

_RANGES = """
    3005-3007 3400-4DBF 4E00-9FFF F900-FA6D FA70-FAD9
    20000-2A6DF 2A700-2B738 2B740-2B81D 2B820-2CEA1 2CEB0-2EBE0 2F800-2FA1D 30000-3134A
    3041-3096 309D-309F 30A1-30FA 30FC-30FF 31F0-31FF FF66-FF9F
    1AFF0-1AFF3 1AFF5-1AFFB 1AFFD-1AFFE 1B000-1B001 1B11F-1B122 1B150-1B152 1B164-1B167
    1100-11FF 3131-318E A960-A97C AC00-D7A3 D7B0-D7C6 D7CB-D7FB FFA0-FFBE FFC2-FFC7 FFCA-FFCF FFD2-FFD7 FFDA-FFDC
"""
"""The letters of Chinese, Japanese and Korean: ideographs, Kana and Hangul of Unicode 14."""

_UNSPACED = "".join(
    f"{chr(int(first, 16))}-{chr(int(last, 16))}"
    for first, _, last in (each.partition("-") for each in _RANGES.split())
)
_RUN = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+")


def runs_of(text: str) -> Iterator[re.Match[str]]:
    """Yield the runs of letters and digits, each in scripts with spaces or in others; these have an ``unspaced``."""
    return _RUN.finditer(text)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as they are written, in order."""
    for run in runs_of(text):
        if run["unspaced"] is None or len(run[0]) == 1:
            yield run[0]
        else:
            yield from map("".join, pairwise(run[0]))


def separated(text: str) -> str:
    """Return a text for an index that takes each run of letters and digits for a word: spaces part the words."""
    return text if text.isascii() else _UNSPACED_RUN.sub(_separated, text)


def _separated(run: re.Match[str]) -> str:
    words = map("".join, pairwise(run[0])) if len(run[0]) > 1 else [run[0]]
    return f" {' '.join(words)} "
