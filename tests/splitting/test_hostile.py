"""Documents made to do harm: whatever the shape, work and what is made grow as the text does, and nothing is lost.

Lines that run are counted, not time. Only what regular expressions do within one line can't be counted; for those
shapes the time of the processor is compared between a text and one four times as long.
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
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.documents.part_groups import document_ids
from langchain_sentence_window.documents.source_documents import MAX_METADATA_KEYS
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting import engines
from langchain_sentence_window.splitting.engines import MAX_PIECE_CHARS, in_pieces, make_engine
from langchain_sentence_window.splitting.markdown import parse_markdown
from tests.toys import WordEmbeddings, document

LINEAR = 6
"""Four times the text may make so many times the work; quadratic work would be sixteen times."""

ONCE = 5_000
"""Lines that may run beside, such as those that cut a unit where it gets too long for the first time."""

UNITS = (
    *(
        "](",
        "[",
        "[a\n",
        "[a]: b\n",
        "[a](b(",
        "(",
        '"',
        "“",
        "|",
        "|a",
        "| a |\n",
        "a | b\n-|-\n",
        "=",
        "=\t",
        "•=",
        "= a =\n",
    ),
    *(
        "-",
        "---\n",
        "===\n",
        "A\n---\n",
        "a\n===\n",
        "# a\n",
        "# ",
        ">",
        "> a\n",
        "> > a\n",
        ">a\n\n",
        "- a\n",
        "- > a\n",
        "  - a\n",
    ),
    *(
        "1. ",
        "1.1",
        "1. a\n",
        "* ",
        "**",
        "`",
        "```\n",
        "- ```\n",
        "~~~\n\n",
        "<a",
        "<a ",
        "<!--",
        "<div>\n",
        "- <!--\n",
        "<?",
    ),
    *(
        "a: b\n",
        "- : x\n",
        ". ",
        "? ",
        "...",
        ". . ",
        "Dr. ",
        "e.g. ",
        "p. 5. ",
        "a.",
        "A.B",
        ":) ",
        "。",
        "[17] ",
        "http://a.b/",
        "http://a.b/ A ",
        "mail: a@b A ",
        "1/1/99 1:11 A ",
        " :-) A ",
        "a?b ",
        "Art. 1º A. ",
        "a. (b)\n",
        "a. (b) (c)\n",
        "a:\n\n",
        "Dr(a). A ",
        "00:01 --> 00:02\na\n",
        "1\n00:01 --> 00:02\n<v A>a\n\n",
        "segg. A ",
        '. " ',
        "« ! » ",
        "! ” ",
        "「。」と",
        "。」",
        "😀 ",
        "a! 😀 ",
        'a, "b! c',
        "a – I ",
        "３．",
        "字\n",
        "字、字字字字字字字字\n",
        "Fig. 1. A ",
    ),
    *(
        "\n",
        "\r\n",
        "\r",
        " \t",
        "    ",
        "A    ",
        "\u2003",
        "\u2028",
        "\x85",
        "\u0301",
        "\u200b",
        "\ud800",
        "\x00",
        "word ",
        "x",
    ),
    *(
        "36\\.\n\n",
        "**a**\n\n",
        "**a**\nb\n",
        "[1:02] a: b\n",
        "a [1:02]\nb\n",
        "a 1:02\nb\n",
        "1:02 a: b\n",
        "Ann: b.\nBob: c.\n",
        "Ann: b.\n\nBob: c.\n\n",
        "a:\n- b\n",
        "(a) b:\n(i) c:\n1. d.\n",
        "|a|1|\n",
    ),
    *(
        "!!! a\n    b\n",
        '=== "a"\n',
        "/// a\n",
        ":::a\n",
        "```{note}\n",
        "```{note}\n```\n",
        "{: .a}\n",
        "a {.b}\n",
        "{% a %}\n",
        "{% comment %}\n",
        "{% highlight %}\n",
        "{{< a\n",
        "<A {\n",
        "<A b={<C/>}\n",
        "<p>a</p>\n",
        "</p>",
        "<table>\n",
        "# a <b>\n",
        "import a from 'b'\n",
        "--8<--\na\n",
    ),
    *(
        "data:",
        "data:image/png;base64,",
        "data:image/png;base64," + 40 * "A" + "\n",
        '"data:image/svg+xml,<svg ',
        "<img src=data:image/png;base64," + 40 * "A",
        '"image/png": ["',
    ),
)


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
@pytest.mark.parametrize("unit", UNITS, ids=repr)
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
        ("quoted data that doesn't close", lambda n: "'data:image/svg+xml,<a " + '"data:image/svg+xml,<svg ' * n),
        ("drawings that don't close", lambda n: "data:image/svg+xml,<svg " * n),
        ("drawings that end at a blank line", lambda n: "data:image/svg+xml,<svg " * n + "\n\n</svg>"),
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


def test_a_table_is_as_large_as_its_text_however_many_cells_its_rows_lack() -> None:
    rows, columns = 300, 256
    text = "|a" * columns + "|\n" + "|---" * columns + "|\n" + "x\n" * rows
    tracemalloc.start()
    try:
        blocks = parse_markdown(text, indented_code=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [block.kind for block in blocks] == ["table_row"] * (rows + 1)
    assert most < 4_000_000  # it was 60 MB, of 65,536 cells


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.", ["table_row", "table_row", "prose"]),
        ("a | b\n:-- | --:\n1 | 2\n3\n> End.", ["table_row", "table_row", "table_row", "prose"]),
        ("| a \\| b |\n|---|\n| 1 |", ["table_row", "table_row"]),
        ("| a | b |\n|---|\nEnd.", ["prose"]),
        ("Some text\nmore | text\n--- | ---\n1 | 2", ["prose", "table_row", "table_row"]),
        ("- | a |\n  |---|\n  | 1 |\n- b", ["table_row", "table_row", "list_item"]),
    ],
)
def test_tables_are_read_as_they_were_with_cells(text: str, kinds: list[str]) -> None:
    assert [block.kind for block in parse_markdown(text, indented_code=True)] == kinds


def test_a_quote_ends_with_its_marks() -> None:
    text = "> A quote\n> of lines.\nAn answer.\n> > Twice.\n> # Title\n- > Listed.\n  After."
    assert [text[b.start : b.end] for b in parse_markdown(text, indented_code=True)] == [
        "> A quote\n> of lines.",
        "An answer.",
        "> > Twice.",
        "> # Title",
        "- > Listed.",
        "After.",
    ]


TEXTS = {
    "de": "Dr. Meyer kam am 3. Juni an. „Das ist gut“, sagte er. Es regnete z. B. in Köln (und nur dort). Warum? ",
    "fr": "M. Dupont est parti à 8 h. « C'est bien », dit-il. Il pleuvait (un peu) à Paris. Pourquoi pas ? ",
    "hi": "यह पहला वाक्य है। वह कल आएगा। क्या तुम ठीक हो? मौसम अच्छा है (आज)। ",
    "ja": "今日は天気がいい。「はい」と彼は言った。本当ですか？東京（日本）に行く。",
    "ru": "Это первое предложение. Он жил в г. Москве (Россия). «Да», сказал он. Почему нет? ",
    "am": "ይህ የመጀመሪያ ዓረፍተ ነገር ነው። እሱ ነገ ይመጣል። ደህና ነህ? ",
}


@pytest.mark.parametrize(("engine", "language"), [*(("sentencex", language) for language in TEXTS), ("nupunkt", "en")])
def test_engines_find_in_pieces_what_they_find_in_the_whole(
    engine: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = TEXTS.get(language, 'Dr. Hale came at 3 p.m. (late). She said: "Go on." Why not? It cost $3.5 in the U.S. ')
    text = "".join(unit.replace("3", str(number)) for number in range(3 * MAX_PIECE_CHARS // len(unit) + 2))
    assert len(text) > 2.5 * MAX_PIECE_CHARS
    in_parts = [start for start, _ in make_engine(engine, language)(text)]
    monkeypatch.setattr(engines, "MAX_PIECE_CHARS", len(text))
    assert in_parts == [start for start, _ in make_engine(engine, language)(text)]
    assert len(in_parts) > 300


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "mark"), [("sentencex", "。"), ("punkt", "?"), ("nupunkt", "?")])
def test_engines_are_given_no_more_marks_than_fit_a_piece(engine: str, mark: str) -> None:
    text = mark * 100_000  # as a whole it took minutes
    starts = [start for start, _ in make_engine(engine, "en")(text)]
    assert starts[:1] == [0]
    assert starts == sorted(starts)
    assert starts[-1] < len(text)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("word " * 20_000, [0]),
        ("x" * 100_000, [0]),
        ("字" * 50_000 + "。" + "字" * 50_000, [0, 50_001]),
        ("A b. " * 20_000, list(range(0, 100_000, 5))),
    ],
)
def test_an_engine_gets_a_long_paragraph_in_pieces(text: str, starts: list[int]) -> None:
    given: list[int] = []

    def after_stops(piece: str) -> list[Span]:
        given.append(len(piece))
        begun = [0, *(i + 1 for i, mark in enumerate(piece[:-1]) if mark in ".。")]
        begun = [start + (piece[start] == " ") for start in begun if piece[start:].strip()]
        return list(zip(begun, [*begun[1:], len(piece)], strict=True))

    assert [start for start, _ in in_pieces(after_stops)(text)] == starts
    assert max(given) <= MAX_PIECE_CHARS
    assert sum(given) < 2 * len(text)


def test_an_engine_that_finds_sentences_at_the_beginning_alone_gets_on() -> None:
    given: list[int] = []

    def first_two(piece: str) -> list[Span]:
        given.append(len(piece))
        return [(0, 1), (1, 2), (2, len(piece))]

    assert list(in_pieces(first_two)("?" * 100_000))[:3] == [(0, 1), (1, 2), (2, 7_500)]
    assert sum(given) < 150_000


def test_a_callable_gets_a_paragraph_as_it_is() -> None:
    given: list[str] = []

    def engine(text: str) -> list[Span]:
        given.append(text)
        return []

    text = "word " * 20_000
    SentenceSplitter(engine=engine).spans(text)
    assert given == [text.strip()]


def test_a_doc_id_is_bounded_as_each_sentence_carries_it() -> None:
    with pytest.raises(InvalidInputError, match=r"a doc_id of 5000 characters \('xxx.*at most 4096 characters"):
        document_ids([Document(page_content="a", id="x" * 5_000)], join=True)
    assert document_ids([Document(page_content="a", id="x" * 4_096)], join=True) == ["x" * 4_096]


def test_more_keys_than_each_sentence_can_carry_are_refused(words: WordEmbeddings) -> None:
    some = {f"key{number}": number for number in range(MAX_METADATA_KEYS)}
    made = SentenceSplitter().split_documents([Document("A seat. A card.", id="a", metadata=some)])
    assert [some.items() <= each.metadata.items() for each in made] == [True, True]
    store = FaissStore(words)
    many = Document("A seat. A card.", id="b", metadata={**some, "one more": 1})
    with pytest.raises(InvalidInputError, match="document 'b' has 1001 keys, .* keep 1000 at most"):
        SentenceWindowRetriever(vectorstore=store).add_documents([document("A card.", "a"), many])
    assert len(store) == 0


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
