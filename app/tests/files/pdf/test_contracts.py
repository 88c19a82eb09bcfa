"""The loader on real contracts, if they are present."""

import os
import re
from pathlib import Path

import pytest

from langchain_sentence_window.documents.part_blocks import read_layout
from sentence_window.files import load_pdf, locate

DATA = Path(os.environ.get("SENTENCE_WINDOW_DATA", Path(__file__).parents[5] / "shared" / "data"))
FOLDERS = [DATA / "pdf" / "cuad", DATA / "documents" / "contracts_pdf"]
CONTRACTS = [path for folder in FOLDERS for path in sorted(folder.glob("*")) if path.suffix.lower() == ".pdf"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CONTRACTS, reason=f"there are no contracts in {DATA}; set SENTENCE_WINDOW_DATA"),
]


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem[:20])
def test_blocks_cover_the_text_without_running_lines(path: Path) -> None:
    for page in load_pdf(path):
        text, at = page.page_content, 0
        layout = read_layout(page.metadata["layout"], len(text))
        assert layout is not None
        for block in layout[0]:
            own = text[block.start : block.end]
            assert not text[at : block.start].strip()
            assert own.strip() == own != ""
            assert block.kind == "table_row" or not re.fullmatch(
                r"Source: .{3,60}\d{4}|Page \d+ of \d+|-\s?\d+\s?-", own
            )
            at = block.end
        assert at == len(text)


@pytest.mark.parametrize("path", CONTRACTS[::4], ids=lambda path: path.stem[:20])
def test_a_page_that_is_read_again_has_the_same_text(path: Path) -> None:
    pages = load_pdf(path)
    for page in (pages[-1], pages[len(pages) // 2], pages[0]):
        assert locate(page)
