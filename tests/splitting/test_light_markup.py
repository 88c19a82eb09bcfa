"""reStructuredText, AsciiDoc, Org and LaTeX: blocks and sentences are theirs, markup is left out, and nothing else is.

Each golden file holds cases of one format, written as those of `tests.splitting.test_structures`.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever, merge_windows
from langchain_sentence_window.splitting.languages import load_language
from langchain_sentence_window.splitting.light_markup import (
    FORMATS,
    Format,
    format_of,
    format_of_text,
    is_left_out,
    read_source,
)
from langchain_sentence_window.splitting.markup import is_markup
from langchain_sentence_window.splitting.sentences import Sentence, split_text
from tests.splitting.test_hostile import LINEAR, ONCE, lines_run, processor_time
from tests.splitting.test_structures import golden_cases, written_sentences
from tests.toys import WordEmbeddings

GOLDEN = Path(__file__).parent / "light_markup"
CASES = [
    pytest.param(name, text, expected, id=f"{name}: {rule}") for name, rule, text, expected in golden_cases(GOLDEN)
]
RST = "Seats\n=====\n\n.. note:: Keep the ticket.\n\nA seat is free. Take it.\n"
ASCIIDOC = "= The House\n:toc:\n\n== Seats\n\n[NOTE]\n====\nKeep the ticket.\n====\n\nA seat is free. Take it.\n"
ORG = "#+TITLE: The House\n\n* Seats\n\n#+begin_quote\nKeep the ticket.\n#+end_quote\n\nA seat is free. Take it.\n"
LATEX = (
    "\\documentclass{book}\n\\title{The House}\n\\begin{document}\n\\section{Seats}\n\\begin{quote}\nKeep the ticket.\n"
    "\\end{quote}\nA seat is free. Take it.\n\\end{document}\n"
)
TEXTS = {"rst": RST, "asciidoc": ASCIIDOC, "org": ORG, "latex": LATEX}


def split(text: str, name: str) -> list[Sentence]:
    (known,) = (each for each in FORMATS if each.name == name)
    return split_text(text, load_language("en"), syntax=known)


def written(text: str, name: str) -> list[str]:
    return written_sentences(text, split(text, name))


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_golden(name: str, text: str, expected: list[str]) -> None:
    assert written(text, name) == expected


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_line_ends_of_windows_change_nothing(name: str, text: str, expected: list[str]) -> None:
    found = written(text.replace("\n", "\r\n"), name)
    assert [line.replace("\r\\n", "\\n") for line in found] == expected


PIECES = st.sampled_from(
    [
        *("A seat is free. Take it. ", "row", " ", "  ", "    ", "\n", "\n\n", "\r\n", "\u2003", "😀", "\ud800", "."),
        *(".. note::", ".. a", "::", "===\n", "---\n", "* ", "#. ", "| ", "+--+\n", "=== ===\n", ":a: ", "`", "_"),
        *("= ", "== ", "----\n", "|===\n", "[NOTE]\n", ". ", "+\n", "<1> ", "((", "))", "[[", "]]", "//", "a:: "),
        *("#+begin_src\n", "#+end_src\n", "#+title: ", ":a:\n", ":end:\n", "*", "~", "#", "[fn:1]", "\\begin{a}\n"),
        *("\\section{", "}", "\\begin{itemize}", "\\item ", "\\end{itemize}", "$", "\\[", "\\]", "%", "\\footnote{"),
        *("\\begin{tabular}{l}", "&", "\\\\", "\\end{tabular}", "\\begin{verbatim}", "\\end{verbatim}", "\\label{a}"),
    ]
)


@given(st.sampled_from(FORMATS), st.lists(PIECES, max_size=40).map("".join))
@example(FORMATS[3], "\\item\n\n\\item  A.")
def test_sentences_are_spans_in_order_that_begin_and_end_with_text(known: Format, text: str) -> None:
    at = 0
    sentences = split(text, known.name)
    for each in sentences:
        assert at <= each.start < each.end <= len(text)
        assert text[each.start : each.end] == text[each.start : each.end].strip()
        assert at == 0 or is_markup(text[at : each.start]) or is_left_out(text[at : each.start])
        at = each.end
    assert bool(sentences) == bool(text.strip())  # a text of nothing but markup is read as text


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_shows_its_format_beyond_doubt_is_read_in_it_whatever_its_name(name: str) -> None:
    found = format_of_text(TEXTS[name])
    assert found is not None
    assert found.name == name
    text = TEXTS[name]
    sentences = [text[start:end] for start, end in SentenceSplitter().spans(text)]
    assert sentences[-4:] == ["Seats", "Keep the ticket.", "A seat is free.", "Take it."]


@pytest.mark.parametrize(
    "text",
    [
        "Seats\n=====\n\nA seat is free.",
        "= = Plot = = \n\nHe goes.\n\nNOTE: It ends.",
        "== Plot ==\n\n[NOTE]\n\nHe goes.",
        "# A page\n\n```rst\nSeats\n=====\n\n.. note:: a\n```",
        "# A page\n\n```latex\n\\documentclass{book}\n```",
        "We write \\section{A} for a section.",
        "* a\n* b\n\n- c",
        "#hashtag\n\n* a",
        "a\n\n.. b",
        "",
    ],
)
def test_what_may_be_another_text_is_read_as_before(text: str) -> None:
    assert format_of_text(text) is None


@pytest.mark.parametrize(
    ("source", "name"),
    [
        *(
            ("docs/a.rst", "rst"),
            ("A.ADOC", "asciidoc"),
            ("a.asciidoc", "asciidoc"),
            ("a.org", "org"),
            ("a.tex", "latex"),
        ),
        *(("file:///a/b.org", "org"), ("https://github.com/a/b/blob/main/c.tex?raw=1", "latex")),
        *(
            ("https://example.org", None),
            ("https://www.example.org/a.rst", None),
            ("a.org/index", None),
            ("a.txt", None),
        ),
    ],
)
def test_a_name_tells_the_format(source: str, name: str | None) -> None:
    found = format_of(source)
    assert (found.name if found else None) == name


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", ["", " \n", "A seat is free. Take it.", "Seats.\n\n1 is free."])
def test_a_text_without_marks_of_its_format_is_read_as_any_other(name: str, text: str) -> None:
    assert split(text, name) == split_text(text, load_language("en"))


def test_a_text_of_nothing_but_markup_is_read_as_text() -> None:
    text = "\\newcommand{\\seat}{free}\n\\setlength{\\row}{2cm}"
    assert written(text, "latex") == written_sentences(text, split_text(text, load_language("en")))


@pytest.mark.parametrize(
    "metadata",
    [{"source": "a.rst"}, {"file_path": "docs/a.rst"}, {"source": "seats", "content_type": "text/x-rst"}],
)
def test_metadata_tells_the_format_of_a_document(metadata: dict[str, Any]) -> None:
    text = "Seats\n-----\n\n.. a comment\n\nTake it."
    sentences = SentenceSplitter().split_documents([Document(text, metadata=metadata)])
    assert [each.page_content for each in sentences] == ["Seats", "Take it."]
    plain = SentenceSplitter(structure="plain").split_documents([Document(text, metadata=metadata)])
    assert ".. a comment" in [each.page_content for each in plain]


def test_front_matter_is_left_out_of_other_markup_too() -> None:
    text = "---\nauthor: A. Visitor\n---\n\n== Seats\n\n// a comment\nTake it."
    sentences = SentenceSplitter().split_documents([Document(text, metadata={"source": "a.adoc"})])
    assert [each.page_content for each in sentences] == ["Seats", "Take it."]
    assert {each.metadata["author"] for each in sentences} == {"A. Visitor"}


def test_a_window_is_a_slice_of_its_source_with_the_markup_between_its_sentences(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([Document(LATEX, metadata={"source": "a.tex"})], words)
    (window,) = retriever.invoke("seat free", k=1, fetch_k=1, window=1)
    start, end = window.metadata["start_index"], window.metadata["end_index"]
    assert window.page_content == LATEX[start:end]
    assert window.page_content == "Keep the ticket.\n\\end{quote}\nA seat is free. Take it."
    assert window.metadata["heading"] == "The House > Seats"


@pytest.mark.parametrize("inline", [None, 1])
def test_windows_that_are_stored_inline_and_joined_windows_hold_other_markup_too(
    words: WordEmbeddings, inline: int | None
) -> None:
    text = "Seats\n=====\n\nA seat is free.\n\n.. note::\n\n   A refund is due.\n\n.. _end: a.rst\n\nA card is lost.\n"
    splitter = SentenceSplitter(inline_window=inline)
    documents = [Document(text, metadata={"source": "a.rst"})]
    retriever = SentenceWindowRetriever.from_documents(documents, words, splitter=splitter)
    whole = text[text.index("A seat") :].strip()
    (window,) = retriever.invoke("refund", k=1, fetch_k=1, window=1)
    assert window.page_content == whole
    alone = [retriever.invoke(word, k=1, fetch_k=1, window=0)[0] for word in ("seat", "refund", "card")]
    assert [each.page_content for each in merge_windows(alone)] == [whole]


@pytest.mark.parametrize(("name", "text", "_"), CASES)
def test_what_stands_between_sentences_can_be_told_from_text_by_itself(name: str, text: str, _: list[str]) -> None:
    sentences = split(text, name)
    gaps = [text[one.end : other.start] for one, other in pairwise(sentences)]
    assert [gap for gap in gaps if not is_left_out(gap)] == []


@pytest.mark.parametrize(
    "gap", [" EVIL ", "\nEVIL\n", "\n.. note:: EVIL\n", "\\section{EVIL}", "\n* EVIL\n", "% a\nEVIL"]
)
def test_text_between_sentences_is_no_markup(gap: str) -> None:
    assert not is_left_out(gap)


def test_markup_that_can_not_be_told_by_itself_belongs_to_the_sentence_before_it() -> None:
    option = "a" * 250 + "{b}" + "c" * 150
    text = f"A seat is free.\n\\section[{option}]{{Rows}}\nTake it."
    before, heading, after = (text[each.start : each.end] for each in split(text, "latex"))
    assert (before, heading, after) == (f"A seat is free.\n\\section[{option}]{{", "Rows", "Take it.")


def test_a_long_title_is_a_paragraph_and_levels_end_at_six() -> None:
    text = "".join(f"{'*' * level} {level}\n" for level in range(1, 9)) + f"* {'a ' * 300}\n"
    sentences = split(text, "org")
    assert [each.level for each in sentences] == [1, 2, 3, 4, 5, 6, 6, 6, 0]
    assert sentences[-1].kind == "prose"


UNITS = (
    *(".. a::\n", ".. note:: a\n   :b: c\n", "a\n---\n", "---\na\n---\n", "=== ===\n", "+--+\n| a |\n", "a::\n\n b\n"),
    *("``", "`a <", ":a:", ".. |", "|a| ", "- * ", "a [1]_. ", ":a: b\n", "\t", "    "),
    *("----\n", "|===\n", "|===\n| a\n\n", "((", "(((a)))", "xref:a[", "a::b[", "a:: ", "[a]\n", "+\n", ". a\n", "[["),
    *("#+begin_src\n", ":PROPERTIES:\n", "* a :b:\n", "*", "[[a][", "=a", "| a\n|-\n", ": a\n", "[fn:", "@@a:"),
    *(
        "\\begin{a}\n",
        "\\begin{verbatim}",
        "\\begin{equation}",
        "\\item ",
        "\\[",
        "$ ",
        "$$",
        "{",
        "}",
        "\\a{",
        "\\section[",
    ),
    *(
        "\\footnote{a}.",
        "%\n",
        "\\verb|",
        "\\begin{tabular}{l}a&b\\\\",
        "\\label{",
        "\\def\\a",
        "\\title{",
        "\\end{document}\n",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_work_grows_as_the_text_does(known: Format, unit: str) -> None:
    short, long = (TEXTS[known.name] + unit * (size // len(unit)) for size in (2_000, 8_000))
    read_source(short, known)
    assert lines_run(lambda: read_source(long, known)) < LINEAR * lines_run(lambda: read_source(short, known)) + ONCE
    # What a regular expression does within a line can't be counted.
    short, long = (TEXTS[known.name] + unit * (size // len(unit)) for size in (10_000, 40_000))
    assert processor_time(lambda: read_source(long, known)) < 10 * processor_time(lambda: read_source(short, known))
