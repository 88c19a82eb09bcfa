"""No call changes a setting of the process, during the call or after it."""

import csv
import decimal
import gc
import locale
import logging
import os
import random
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
import pytest
from langchain_core.documents import Document

from app.tests.files.office_writing import epub, library, msg, odt, pptx, xlsx
from app.tests.files.pdf.drawing import drawn, lines
from app.tests.files.writing import docx, file, paragraph
from langchain_sentence_window import (
    FaissStore,
    SentenceSplitter,
    SentenceWindowRetriever,
    find_citations,
    format_context,
    verify_quotes,
)
from sentence_window.files import load_file
from tests.toys import WordEmbeddings

CODE = """import re
import os

def read():
    try:
        return re.sub("\\d", "", 1if 2else 3)
    finally:
        return
"""
PRICES: list[list[object]] = [["Hall", "Euros"], ["Card", 35]]


Prepare: TypeAlias = Callable[[Path], Callable[[], object]]
"""Prepares an empty folder for a call, and returns the call."""


def split(text: str) -> Prepare:
    documents = [Document(text, metadata={"source": "a"})]
    return lambda _: lambda: SentenceSplitter().split_documents(documents)


def read(name: str, make: Callable[[], bytes | str]) -> Prepare:
    return lambda folder: partial(load_file, file(folder / name, make()))


def index(folder: Path) -> Callable[[], object]:
    text = "# Fees\n\nA card is 35 euros. A seat is free.\n\nPay now."

    def work() -> object:
        with FaissStore(WordEmbeddings(), folder / "index") as store:
            retriever = SentenceWindowRetriever(vectorstore=store)
            retriever.add_documents([Document(text, id="a")])
            windows = retriever.invoke("card")
            answer = 'It says "A card is 35 euros" [1].'
            return format_context(windows), find_citations(answer, windows), verify_quotes(answer, windows)

    return work


CALLS: dict[str, Prepare] = {
    "split prose": split("A hall is open. A card is 35 euros."),
    "split code": split(CODE),
    "split markdown": split("# Fees\n\n| a | b |\n| --- | --- |\n| c | d |\n"),
    ".docx": read("a.docx", lambda: docx(paragraph("Pay now."))),
    ".xlsx": read("a.xlsx", lambda: xlsx({"a": PRICES})),
    ".pptx": read("a.pptx", lambda: pptx("Pay now.")),
    ".odt": read("a.odt", lambda: odt("<text:p>Pay now.</text:p>")),
    ".epub": read("a.epub", lambda: epub({"a": "Pay now."})),
    ".msg": read("a.msg", lambda: msg("pay")),
    ".rtf": read("a.rtf", lambda: "{\\rtf1 Pay now.}"),
    ".pdf": read("a.pdf", lambda: drawn(lines("Pay now."))),
    ".csv": read("a.csv", lambda: "Hall,Euros\nCard,35\n"),
    ".html": read("a.html", lambda: "<h1>Fees</h1><p>Pay now."),
    ".eml": read("a.eml", lambda: "X: a\n\nPay now."),
    ".txt": read("a.txt", lambda: CODE),
    ".md": read("a.md", lambda: "# Fees\n\nPay now."),
    "index and ask": index,
}
NEEDED = {".xlsx": "openpyxl", ".rtf": "striprtf", ".msg": "oxmsg", ".pptx": "pptx"}


def state() -> dict[str, Any]:
    mask = os.umask(0o22)
    os.umask(mask)
    logger = logging.getLogger()
    return {
        "filters": (id(warnings.filters), [*warnings.filters]),
        "shown": (warnings.showwarning, sys.excepthook, threading.excepthook, sys.stdout, sys.stderr),
        "garbage": (gc.isenabled(), gc.get_threshold()),
        "environment": dict(os.environ),
        "locale": locale.setlocale(locale.LC_ALL),
        "interpreter": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()),
        "folder": (Path.cwd(), mask),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "network": socket.getdefaulttimeout(),
        "chance": (random.getstate(), str(np.random.get_state())),
        "numbers": (str(decimal.getcontext()), np.geterr(), csv.field_size_limit()),
        "names": dict(ElementTree._namespace_map),  # type: ignore[attr-defined]
        "logging": (logger.level, [*logger.handlers], logging.root.manager.disable),
    }


@contextmanager
def watched() -> Iterator[list[str]]:
    """Compare settings that other threads rely on, at each call of a function in this thread."""
    changes = list[str]()
    filters, enabled = warnings.filters, gc.isenabled()

    def look(frame: Any, event: str, _: object) -> None:
        if warnings.filters is not filters or gc.isenabled() is not enabled:
            changes.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {event}")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield changes
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_changes_no_setting_of_the_process(name: str, tmp_path: Path) -> None:
    if name in NEEDED:
        library(NEEDED[name])
    call = CALLS[name](tmp_path)
    call()  # its imports may set up the process once
    before = state()
    with watched() as changes:
        call()
    assert not changes
    assert state() == before


def test_concurrent_calls_change_no_setting_of_the_process(tmp_path: Path) -> None:
    calls = list[Callable[[], object]]()
    for number, name in enumerate([*(CALLS.keys() - NEEDED.keys())] * 2):
        (tmp_path / f"{number}").mkdir()
        calls.append(CALLS[name](tmp_path / f"{number}"))
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        before = state()
        with ThreadPoolExecutor(len(calls)) as pool:
            list(pool.map(lambda call: [call() for _ in range(3)], calls))
        assert state() == before
    finally:
        if was_enabled:
            gc.enable()
