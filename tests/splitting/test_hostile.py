"""Hostile documents: work and memory grow linearly with the text.

Lines that run are counted, not time. What regular expressions do within one line can't be counted, so for those shapes
the processor time of a text is compared with that of one four times as long.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from tests.toys import WordEmbeddings, document

LINEAR = 6
"""The most work for four times the text, as a factor; quadratic work would be sixteen."""

ONCE = 5_000
"""Lines that may run besides, such as those that cut a unit that first gets too long."""

UNITS = (
    '](¦[¦[a\n¦[a]: b\n¦[a](b(¦(¦"¦“¦|¦|a¦| a |\n¦a | b\n-|-\n¦=¦=\t¦•=¦= a =\n¦-¦---\n¦===\n¦A\n---\n¦a\n===\n¦'
    "# a\n¦# ¦>¦> a\n¦> > a\n¦>a\n\n¦- a\n¦- > a\n¦  - a\n¦1. ¦1.1¦1. a\n¦* ¦**¦`¦```\n¦- ```\n¦~~~\n\n¦<a¦<a ¦"
    "<!--¦<div>\n¦- <!--\n¦<?¦a: b\n¦- : x\n¦. ¦? ¦...¦. . ¦Dr. ¦e.g. ¦p. 5. ¦a.¦A.B¦:) ¦。¦[17] ¦http://a.b/¦"
    "http://a.b/ A ¦mail: a@b A ¦1/1/99 1:11 A ¦ :-) A ¦a?b ¦Art. 1º A. ¦a. (b)\n¦a. (b) (c)\n¦a:\n\n¦Dr(a). A ¦"
    '00:01 --> 00:02\na\n¦1\n00:01 --> 00:02\n<v A>a\n\n¦segg. A ¦. " ¦« ! » ¦! ” ¦「。」と¦。」¦😀 ¦a! 😀 ¦a, "b! c¦'
    "a – I ¦３．¦字\n¦字、字字字字字字字字\n¦Fig. 1. A ¦"
    "\n¦\r\n¦\r¦ \t¦    ¦A    ¦\u2003¦\u2028¦\x85¦\u0301¦\u200b¦\ud800¦"
    "\x00¦word ¦x¦36\\.\n\n¦**a**\n\n¦**a**\nb\n¦[1:02] a: b\n¦a [1:02]\nb\n¦a 1:02\nb\n¦1:02 a: b\n¦"
    "Ann: b.\nBob: c.\n¦Ann: b.\n\nBob: c.\n\n¦a:\n- b\n¦(a) b:\n(i) c:\n1. d.\n¦|a|1|\n¦!!! a\n    b\n¦"
    '=== "a"\n¦/// a\n¦:::a\n¦```{note}\n¦```{note}\n```\n¦{: .a}\n¦a {.b}\n¦{% a %}\n¦{% comment %}\n¦'
    "{% highlight %}\n¦{{< a\n¦<A {\n¦<A b={<C/>}\n¦<p>a</p>\n¦</p>¦<table>\n¦# a <b>\n¦import a from 'b'\n¦"
    "--8<--\na\n¦data:¦data:image/png;base64,¦data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n¦"
    '"data:image/svg+xml,<svg ¦<img src=data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA¦'
    '"image/png": ["'
)
"""Texts that are repeated, separated by ``¦``."""


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python run."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def processor_time(work: Callable[[], object]) -> float:
    """The shortest of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["markdown", "plain"])
@pytest.mark.parametrize("unit", UNITS.split("¦"), ids=repr)
def test_work_grows_as_the_text_does(unit: str, structure: Any) -> None:
    splitter = SentenceSplitter(structure=structure)
    splitter.spans("---\nwarm: up\n---\n# Warm\n\nup.")
    short, long = (unit * (size // len(unit)) for size in (1000, 4000))
    assert lines_run(lambda: splitter.spans(long)) < LINEAR * lines_run(lambda: splitter.spans(short)) + ONCE


URI = "data:image/png;base64," + 30 * "QUJD"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("links that don't close", lambda n: "](" * n),
        ("links in links", lambda n: "](a(" * n),
        ("empty links", lambda n: "]()" * n),
        ("white space in a heading", lambda n: "# a" + " " * n + "x"),
        ("marks in a heading", lambda n: "# a" + " #" * n + "x"),
        ("white space in wiki headings", lambda n: "= a" + " " * n + "x =\n\ny"),
        ("an underline that isn't one", lambda n: "a\n" + "-" * n + "x"),
        ("a front matter that doesn't close", lambda n: "---\n" + "a" * n + "\n"),
        ("a delimiter row that isn't one", lambda n: "| a |\n" + "|---" * n + "x"),
        ("a tag that doesn't close", lambda n: "<a" + " b" * n + "\n\n# a"),
        ("a name that doesn't end", lambda n: "[10:06] a: b\n[10:07] " + "a" * n),
        ("names of many words", lambda n: "Ann: b.\n" + "Ann " * n + ": c."),
        ("a bold line that doesn't close", lambda n: "**" + "a" * n + "\n\nb"),
        ("bold words", lambda n: "**a** " * n + "\n\nb"),
        ("a list in YAML", lambda n: "---\na: " + "[" * n + "\n---\nb"),
        ("a key of YAML", lambda n: "---\n" + "a" * n + ": b\n---\nb"),
        ("numbers after a full stop", lambda n: "end.1" + " 1" * n + " x"),
        ("references after a full stop", lambda n: "End." + " [1 2 3]" * n + "x"),
        ("addresses in addresses", lambda n: "http://" * n),
        ("addresses in brackets", lambda n: "(http://" * n),
        ("schemes", lambda n: "a://" * n),
        ("mail addresses in mail addresses", lambda n: "mail: " + "a@" * n),
        ("mail addresses", lambda n: "mail: " + "a@b " * n),
        ("time stamps", lambda n: "8/17/2000 11:21 " * n),
        ("digits before a time", lambda n: ":" + "1" * n + "/1"),
        ("smileys", lambda n: "a :-) " * n),
        ("notes at the end of a line", lambda n: "a. " + "(b) " * n + "\nA"),
        ("notes at the end of each line", lambda n: "a. (b) (c)\n" * n),
        ("brackets that open before one that closes", lambda n: "a. " + "(" * n + ")\nA"),
        ("questions without a space", lambda n: "a?" * n),
        ("lines of a cue", lambda n: "00:01 --> 00:02\n" + "a\n" * n),
        ("tags of a cue", lambda n: "00:01 --> 00:02\n" + "a<i> " * n),
        ("tags that don't close", lambda n: "00:01 --> 00:02\n" + "<v <c." * n),
        ("comments in a cue", lambda n: "WEBVTT\n\n00:01 --> 00:02\na\n" + "NOTE\n" * n),
        ("comments after a cue", lambda n: "WEBVTT\n\n00:01 --> 00:02\na\n\n" + "NOTE\n\n" * n),
        ("blank lines in a cue", lambda n: "WEBVTT\n\n00:01 --> 00:02\na" + "\n" * n + "b"),
        ("arrows", lambda n: "00:01 --> 00:02\n" + "1 --> " * n),
        ("words without an end", lambda n: "kg. A" * n),
        ("tags that don't close", lambda n: "# a\n\n" + "<A b={\n" * n),
        ("tags in braces", lambda n: "# a\n\n" + "<A {<A }\n" * n),
        ("strings that don't close", lambda n: "# a\n\n" + '<a b="' * n),
        ("tags of templates that don't close", lambda n: "# a\n\n" + "{% a " * n + "\n{% b " * n),
        ("shortcodes that don't close", lambda n: "# a\n\n" + "{{< a " * n),
        ("comments of templates that don't close", lambda n: "# a\n\n" + "{% comment %}\n" * n),
        ("comments of MDX that don't close", lambda n: "# a\n\n" + "{/* a\n" * n),
        ("comments that don't close", lambda n: "# a\n\n" + "<!-- a\n" * n),
        ("labels that don't close", lambda n: "# a\n\n" + "[a\n" * n + "[a]: " * n),
        ("addresses of labels", lambda n: "# a\n\n" + "[a]: /" + "b" * n + " (c\n"),
        ("rules that aren't one", lambda n: "# a\n\n" + "* " * n + "- " * n + "x"),
        ("marks of alerts", lambda n: "# a\n\n" + "> [!" * n + "\n" + "> [!a]\n" * n),
        ("lists of attributes that don't close", lambda n: "# a\n\n" + "a {: .b " * n + "\n"),
        ("closing tags at the end of a line", lambda n: "# a\n\nb" + "</p>" * n + "\nc" + "</p>" * n + "x>\n"),
        ("fences of directives", lambda n: "````{note}\n" * n + "```\n" * n),
        ("imports that don't end", lambda n: "<A/>\n\n" + "import {a,\n" * n),
        ("names of admonitions", lambda n: "# a\n\n!!! " + "a " * n + "!\n    b"),
        ("options of directives", lambda n: "# a\n\n" + "::: a\n    b: c\n" * n),
        ("headings with tags", lambda n: "# " + "<a " * n + "\n" + "# <b\n" * n),
        ("data URIs without data", lambda n: "data:image/png;base64," * n),
        ("data URIs with parameters", lambda n: "data:image/png" + ";a=b" * n),
        ("data in brackets that don't close", lambda n: "(data:image/svg+xml,(" * n),
        ("tags around data that don't close", lambda n: ("<a href=data:image/png;base64," + "A" * 40) * n),
        ("lines of base64", lambda n: "data:image/png;base64," + ("A" * 76 + "\n") * n),
        ("lines that may be base64", lambda n: "data:image/png;base64,\n" + ("A" * 76 + ".\n") * n),
        ("loose marks after a stop", lambda n: "a." + ' "' * n),
        ("speech that doesn't close", lambda n: 'a, "b! ' * n),
        ("emoji after a stop", lambda n: "a! " + "😀" * n + " b"),
        ("marks of an emoji", lambda n: "a! ❤" + "\ufe0f" * n),
        ("closing marks after a stop", lambda n: "a. " + ") " * n),
        ("opening marks after a stop", lambda n: "a. " + "( " * n + "b. " * n),
        ("white space around a data URI", lambda n: f"a {URI} b" + " " * n + "c" + "\n-" * n + f"d {URI}"),
    ],
)
def test_regular_expressions_read_a_text_once(name: str, make: Callable[[int], str]) -> None:
    # The one check by time there is: what an expression does can't be counted, and of the growth of time
    # from a text to one four times as long, 4 is linear and 16 quadratic.
    splitter = SentenceSplitter()
    short, long = make(10_000), make(40_000)
    splitter.spans(short)
    assert processor_time(lambda: splitter.spans(long)) < 10 * processor_time(lambda: splitter.spans(short))


def test_a_front_matter_of_lines_that_can_be_read_in_two_ways_is_read_in_one() -> None:
    text = "---\n" + "- : x\n" * 2_000 + "The end."  # each line doubled the time that it took
    spans = SentenceSplitter().spans(text)
    assert text[spans[-1][0] : spans[-1][1]].endswith("The end.")
    read = "---\n" + "- : x\n" * 3 + "---\n\nThe end."
    kinds = [(s.kind, read[s.start : s.end]) for s in SentenceSplitter().split_text(read)]
    assert kinds == [("front_matter", read.partition("\n\n")[0]), ("prose", "The end.")]


@pytest.mark.parametrize(
    "unit", ["1. ", "1. A", "am 31.\n", "am 31.\nMai ", "I.-V. A", "Str. ", "a-str. 1", "-" * 20 + ". ", "z. B. "]
)
def test_work_of_ordinals_and_abbreviations_grows_as_the_text_does(unit: str) -> None:
    splitter = SentenceSplitter("de")
    splitter.spans("Am 1. Mai.")
    short, long = (unit * (size // len(unit)) for size in (1000, 4000))
    assert lines_run(lambda: splitter.spans(long)) < LINEAR * lines_run(lambda: splitter.spans(short)) + ONCE


@pytest.mark.parametrize("unit", ["Т.е. а ", "а! » ", "ул. 5. А ", "„А! ", "а! 😀 ", "1. А. 2. ", "А.Б. "])
def test_work_of_mending_grows_as_the_text_does(unit: str) -> None:
    splitter = SentenceSplitter("ru")
    splitter.spans("А. Б.")
    short, long = (unit * (size // len(unit)) for size in (1000, 4000))
    assert lines_run(lambda: splitter.spans(long)) < LINEAR * lines_run(lambda: splitter.spans(short)) + ONCE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.", ["| a | b |\n|---|---|", "| 1 | 2 |", "End."]),
        ("a | b\n:-- | --:\n1 | 2\n3\n> End.", ["a | b\n:-- | --:", "1 | 2", "3", "> End."]),
        ("| a \\| b |\n|---|\n| 1 |", ["| a \\| b |\n|---|", "| 1 |"]),
        ("More | text\n--- | ---\n1 | 2", ["More | text\n--- | ---", "1 | 2"]),
        ("> A quote.\nAn answer.", ["> A quote.", "An answer."]),
        ("- > Listed.\n  After.", ["- > Listed.", "After."]),
    ],
)
def test_replaced_rules_read_markdown_as_before(text: str, expected: list[str]) -> None:
    found = SentenceSplitter(structure="markdown").spans(text)
    assert [text[start:end] for start, end in found] == expected


def test_a_table_takes_memory_by_its_text_and_not_by_its_missing_cells() -> None:
    text = "|a" * 256 + "|\n" + "|---" * 256 + "|\n" + "x\n" * 300
    splitter = SentenceSplitter(structure="markdown")
    splitter.spans("# Warm")
    tracemalloc.start()
    try:
        assert len(splitter.spans(text)) == 301
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 4_000_000  # it was 60 MB, of 65,536 cells


UNIT_OF_ENGINES = {
    "ru": "Это первое предложение. Он жил в г. Москве (Россия) 3 года. «Да», сказал он. Почему нет? ",
    "ja": "今日は天気がいい。「はい」と彼は言った。本当ですか？東京（日本）に3回行く。",
}


@pytest.mark.parametrize("language", UNIT_OF_ENGINES)
def test_sentencex_finds_in_a_long_paragraph_what_it_finds_in_a_short_one(language: str) -> None:
    # It gets a long paragraph in pieces, as its work grows faster than its text.
    unit, splitter = UNIT_OF_ENGINES[language], SentenceSplitter(language)
    text = "".join(unit.replace("3", str(number)) for number in range(400))
    assert len(splitter.spans(text)) == 400 * len(splitter.spans(unit))


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "。" * 20_000])
def test_sentencex_reads_a_paragraph_without_sentences(text: str) -> None:
    spans = SentenceSplitter("ja", max_chars=None).spans(text)
    assert (spans[0][0], spans[-1][1]) == (0, len(text.strip()))


def test_a_callable_gets_a_paragraph_as_it_is() -> None:
    paragraphs: list[str] = []

    def engine(text: str) -> list[tuple[int, int]]:
        paragraphs.append(text)
        return []

    text = "word " * 20_000
    SentenceSplitter(engine=engine).spans(text)
    assert paragraphs == [text.strip()]


def test_what_each_sentence_carries_is_limited(words: WordEmbeddings) -> None:
    with pytest.raises(InvalidInputError, match=r"a doc_id of 5000 characters \('xxx.*at most 4096 characters"):
        SentenceSplitter().split_documents([Document("a", id="x" * 5_000)])
    store = FaissStore(words)
    many = Document("A seat. A card.", id="b", metadata={f"key{number}": number for number in range(1_001)})
    with pytest.raises(InvalidInputError, match="document 'b' has 1001 keys, .* keep 1000 at most"):
        SentenceWindowRetriever(vectorstore=store).add_documents([document("A card.", "a"), many])
    assert len(store) == 0
