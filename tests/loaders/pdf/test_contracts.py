"""The loader on real contracts, where they are."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from langchain_sentence_window.loaders.pdf.lines import TextLine
from langchain_sentence_window.loaders.pdf.page_layout import MADE, PageText
from langchain_sentence_window.loaders.pdf.pdf_file import open_pdf

DATA = Path(os.environ.get("SENTENCE_WINDOW_DATA", Path(__file__).parents[4] / "shared" / "data"))
FOLDERS = [DATA / "pdf" / "cuad", DATA / "documents" / "contracts_pdf"]
CONTRACTS = [path for folder in FOLDERS for path in sorted(folder.glob("*")) if path.suffix.lower() == ".pdf"]

LIGATURES = "\ufb00\ufb01\ufb02\ufb03\ufb04"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CONTRACTS, reason=f"there are no contracts in {DATA}; set SENTENCE_WINDOW_DATA"),
]


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem[:20])
def test_each_character_is_read_once_unless_it_stands_in_a_running_line(path: Path) -> None:
    with open_pdf(path) as contract:
        for number in range(contract.page_count):
            page, codes = contract.read_page(number), contract.read_characters(number).codes
            check_blocks(page)
            read = page.characters[page.characters != MADE].tolist()
            assert all(chr(codes[index]) in LIGATURES for index, count in Counter(read).items() if count > 1)
            rows = contract.read_rows(number)
            running = {index for i in contract.facts().running[number] for index in indices(rows[i])}
            left = {index for row in rows for index in indices(row)} - running - set(read)
            assert {chr(codes[index]) for index in left} <= {"-", "\x02", "\xad", "=", "~"}


def indices(row: TextLine) -> set[int]:
    return {index for start, end in row.words for index in row.ink.index[start:end].tolist()}


def check_blocks(page: PageText) -> None:
    """Blocks cover the text, and none of them is a page number or a mark of the filing."""
    at = 0
    for block in page.blocks:
        text = page.text[block.start : block.end]
        assert not page.text[at : block.start].strip()
        assert text.strip() == text != ""
        assert block.kind == "table_row" or not re.fullmatch(r"Source: .{3,60}\d{4}|Page \d+ of \d+|-\s?\d+\s?-", text)
        at = block.end
    assert at == len(page.text)


@pytest.mark.parametrize("path", CONTRACTS[::4], ids=lambda path: path.stem[:20])
def test_a_page_is_read_the_same_alone(path: Path) -> None:
    with open_pdf(path) as opened:
        expected = [opened.read_page(number) for number in range(opened.page_count)]
    for number in (len(expected) - 1, len(expected) // 2, 0):
        with open_pdf(path) as opened:
            assert same(opened.read_page(number), expected[number])


def same(one: PageText, other: PageText) -> bool:
    return (one.text, one.blocks, one.continues) == (other.text, other.blocks, other.continues) and bool(
        (one.characters == other.characters).all()
    )
