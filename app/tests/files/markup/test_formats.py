"""reStructuredText, AsciiDoc, Org and LaTeX: blocks and sentences are theirs, markup is left out, and nothing else is.

Each golden file holds cases of one format, written as those of `tests.splitting.test_structures`.
"""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever, merge_windows
from langchain_sentence_window.documents.part_blocks import LAYOUT, read_layout
from langchain_sentence_window.splitting.engines import Ruleset
from langchain_sentence_window.splitting.languages import language_words
from langchain_sentence_window.splitting.sentences import Sentence, split_text
from sentence_window.files import load_file
from sentence_window.files.markup import ASCIIDOC, FORMATS, LATEX, ORG, RST, Format
from tests.splitting.test_hostile import LINEAR, ONCE, lines_run, processor_time
from tests.splitting.test_structures import golden_cases, written_sentences
from tests.toys import WordEmbeddings

GOLDEN = Path(__file__).parent / "golden"
CASES = [
    pytest.param(name, text, expected, id=f"{name}: {rule}") for name, rule, text, expected in golden_cases(GOLDEN)
]
RST_TEXT = "Seats\n=====\n\n.. note:: Keep the ticket.\n\nA seat is free. Take it.\n"
ASCIIDOC_TEXT = "= The House\n:toc:\n\n== Seats\n\n[NOTE]\n====\nKeep the ticket.\n====\n\nA seat is free. Take it.\n"
ORG_TEXT = "#+TITLE: The House\n\n* Seats\n\n#+begin_quote\nKeep the ticket.\n#+end_quote\n\nA seat is free. Take it.\n"
LATEX_TEXT = (
    "\\documentclass{book}\n\\title{The House}\n\\begin{document}\n\\section{Seats}\n\\begin{quote}\nKeep the ticket.\n"
    "\\end{quote}\nA seat is free. Take it.\n\\end{document}\n"
)
TEXTS = {RST: RST_TEXT, ASCIIDOC: ASCIIDOC_TEXT, ORG: ORG_TEXT, LATEX: LATEX_TEXT}
RULES = Ruleset(language_words("en"))
BY_NAME = {known.name: known for known in FORMATS}


def split(text: str, known: Format) -> list[Sentence]:
    return split_text(text, Ruleset(language_words("en"), structure=known.parse))


def written(text: str, name: str) -> list[str]:
    return written_sentences(text, split(text, BY_NAME[name]))


def loaded(tmp_path: Path, name: str, text: str) -> Document:
    path = tmp_path / name
    path.write_bytes(text.encode())
    (document,) = load_file(path, source=name)
    return document


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
@example(LATEX, "\\item\n\n\\item  A.")
def test_sentences_are_spans_in_order_that_begin_and_end_with_text(known: Format, text: str) -> None:
    at = 0
    sentences = split(text, known)
    for each in sentences:
        assert at <= each.start < each.end <= len(text)
        assert text[each.start : each.end] == text[each.start : each.end].strip()
        at = each.end
    assert bool(sentences) == bool(text.strip())  # a text of nothing but markup is read as text


@pytest.mark.parametrize("known", TEXTS, ids=lambda known: known.name)
def test_a_file_is_split_by_its_format(known: Format, tmp_path: Path) -> None:
    document = loaded(tmp_path, f"house{known.suffixes[-1]}", TEXTS[known])
    sentences = SentenceSplitter().split_documents([document])
    assert [each.page_content for each in sentences][-4:] == [
        "Seats",
        "Keep the ticket.",
        "A seat is free.",
        "Take it.",
    ]
    assert all(LAYOUT not in each.metadata for each in sentences)


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_a_file_is_split_as_a_text_is_by_the_parser(name: str, text: str, expected: list[str], tmp_path: Path) -> None:
    document = loaded(tmp_path, f"a{BY_NAME[name].suffixes[0]}", text)
    blocks = read_layout(document.metadata[LAYOUT], len(text))
    assert blocks is not None
    assert written_sentences(text, split_text(text, RULES, blocks=blocks[0])) == expected


def test_a_file_whose_text_was_changed_is_read_as_any_other_text(tmp_path: Path) -> None:
    document = loaded(tmp_path, "a.rst", RST_TEXT)
    changed = Document("What? " + document.page_content, metadata=document.metadata)
    sentences = SentenceSplitter().split_documents([changed])
    assert "What? Seats\n=====" in [each.page_content for each in sentences]


@pytest.mark.parametrize("known", TEXTS, ids=lambda known: known.name)
@pytest.mark.parametrize("text", ["", " \n", "A seat is free. Take it.", "Seats.\n\n1 is free."])
def test_a_text_without_marks_of_its_format_is_read_as_any_other(known: Format, text: str) -> None:
    assert known.parse(text) is None
    assert split(text, known) == split_text(text, RULES)


def test_line_ends_of_windows_are_not_markup() -> None:
    text = "Read this::\r\n\r\n    row\r\n"
    assert [text[each.start : each.end] for each in split(text, RST)] == ["Read this:", "row"]


def test_a_text_of_nothing_but_markup_is_read_as_text() -> None:
    text = "\\newcommand{\\seat}{free}\n\\setlength{\\row}{2cm}"
    assert written(text, "latex") == written_sentences(text, split_text(text, RULES))


def test_front_matter_is_left_out_of_other_markup_too(tmp_path: Path) -> None:
    text = "---\nauthor: A. Visitor\n---\n\n== Seats\n\n// a comment\nTake it."
    sentences = SentenceSplitter().split_documents([loaded(tmp_path, "a.adoc", text)])
    assert [each.page_content for each in sentences] == ["Seats", "Take it."]
    assert {each.metadata["author"] for each in sentences} == {"A. Visitor"}
    parsed = SentenceSplitter(structure=ASCIIDOC.parse).split_documents([Document(text)])
    assert [each.page_content for each in parsed] == ["Seats", "Take it."]


def test_a_window_is_a_slice_of_its_source_with_the_markup_between_its_sentences(
    words: WordEmbeddings, tmp_path: Path
) -> None:
    retriever = SentenceWindowRetriever.from_documents([loaded(tmp_path, "a.tex", LATEX_TEXT)], words)
    (window,) = retriever.invoke("seat free", k=1, fetch_k=1, window=1)
    start, end = window.metadata["start_index"], window.metadata["end_index"]
    assert window.page_content == LATEX_TEXT[start:end]
    assert window.page_content == "Keep the ticket.\n\\end{quote}\nA seat is free. Take it."
    assert window.metadata["heading"] == "The House > Seats"


@pytest.mark.parametrize("inline", [None, 1])
def test_windows_that_are_stored_inline_and_joined_windows_hold_other_markup_too(
    words: WordEmbeddings, inline: int | None
) -> None:
    text = "Seats\n=====\n\nA seat is free.\n\n.. note::\n\n   A refund is due.\n\n.. _end: a.rst\n\nA card is lost.\n"
    splitter = SentenceSplitter(inline_window=inline, structure=RST.parse)
    documents = [Document(text, metadata={"source": "a.rst"})]
    retriever = SentenceWindowRetriever.from_documents(documents, words, splitter=splitter)
    whole = text[text.index("A seat") :].strip()
    (window,) = retriever.invoke("refund", k=1, fetch_k=1, window=1)
    assert window.page_content == whole
    alone = [retriever.invoke(word, k=1, fetch_k=1, window=0)[0] for word in ("seat", "refund", "card")]
    assert [each.page_content for each in merge_windows(alone)] == [whole]


def test_a_long_title_is_a_paragraph_and_levels_end_at_six() -> None:
    text = "".join(f"{'*' * level} {level}\n" for level in range(1, 9)) + f"* {'a ' * 300}\n"
    sentences = split(text, ORG)
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
    *("\\footnote{a}.", "%\n", "\\verb|", "\\begin{tabular}{l}a&b\\\\"),
    *("\\label{", "\\def\\a", "\\title{", "\\end{document}\n"),
)


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_work_grows_as_the_text_does(known: Format, unit: str) -> None:
    short, long = (TEXTS[known] + unit * (size // len(unit)) for size in (2_000, 8_000))
    known.parse(short)
    assert lines_run(lambda: known.parse(long)) < LINEAR * lines_run(lambda: known.parse(short)) + ONCE
    # What a regular expression does within a line can't be counted.
    short, long = (TEXTS[known] + unit * (size // len(unit)) for size in (10_000, 40_000))
    assert processor_time(lambda: known.parse(long)) < 10 * processor_time(lambda: known.parse(short))
