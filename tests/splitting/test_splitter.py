"""Sentences stand where they say, for every string; and they are the right ones, by golden cases."""

import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError, SentenceWindowWarning
from langchain_sentence_window.splitting.blocks import pieces, trim
from langchain_sentence_window.splitting.front_matter import read_front_matter
from langchain_sentence_window.splitting.sentences import Sentence
from tests.properties import examples

GOLDEN = Path(__file__).parent / "golden"
MARKUP = [
    *("# ", "- ", "1. ", "| a | b |", "|---|---|", "```", "---", "===", "> ", "(a) ", "*", "[x]: y"),
    *(
        "[10:06] Ann: ",
        "ANN: ",
        "Bob: ",
        "Ann  [10:06 AM]\n",
        "12/31/23, 10:06 PM - Bob: ",
        "**Fees**",
        "36\\.",
        "a: b\n",
    ),
    *("Dr. ", "e.g. ", ". ", "? ", "! ", " ", "\t", "\n", "\n\n", "\r\n", "\r", "\u2028", "\x0c", "\x85"),
    *("\ufeff", "\x00", "\ud800", "\u200b", "😀", "\u0301", "\xa0", "\x1c"),
]
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=300),
    st.lists(st.one_of(st.sampled_from(MARKUP), st.text("abcXYZ ", max_size=8)), max_size=60).map("".join),
)


def golden_cases() -> list[tuple[str, str, str, list[str]]]:
    cases = []
    for path in sorted(GOLDEN.glob("*.txt")):
        _, mark, body = path.read_text(encoding="utf-8").partition("## ")
        for case in (mark + body).split("\n===\n")[:-1]:
            rule, _, rest = case.partition("\n")
            text, _, expected = rest.rpartition("\n---\n")
            assert rule.startswith("## "), f"a case in {path.name} has no rule: {case!r}"
            assert text, f"{rule!r} has no text"
            sentences = [line.replace("\\n", "\n") for line in expected.split("\n")]
            cases.append((path.stem, rule.removeprefix("## "), text, sentences))
    return cases


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        pytest.param(language, text, expected, id=f"{language}: {rule}")
        for language, rule, text, expected in golden_cases()
    ],
)
def test_golden(language: str, text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in SentenceSplitter(language).spans(text)] == expected


def is_no_text(gap: str) -> bool:
    """Return whether nothing but white space and rules of Markdown stands between sentences."""
    return not "".join(gap.split()).strip("-*_=")


def assert_exact(text: str, sentences: list[Sentence]) -> None:
    front_matter = read_front_matter(text)
    at = 0 if front_matter is None else front_matter.end
    for sentence in sentences:
        assert at <= sentence.start < sentence.end <= len(text)
        assert is_no_text(text[at : sentence.start])
        body = text[sentence.start : sentence.end]
        assert body == body.strip()
        at = sentence.end
    assert is_no_text(text[at:])
    for index, sentence in enumerate(sentences):
        assert sentence.section_start <= index < sentence.section_end <= len(sentences)
        assert sentence.lead_in is None or sentence.section_start <= sentence.lead_in < index
        neighbors = sentences[sentence.section_start : sentence.section_end]
        assert {(other.section_start, other.section_end) for other in neighbors} == {
            (sentence.section_start, sentence.section_end)
        }


@given(texts)
@example("")
@example(" \n\t ")
@example("***")
@example("===\n0")
@example("1. 2. 3.")
@example("\x1c\n\x85 - \n")
def test_sentences_are_exact_for_any_string(text: str) -> None:
    assert_exact(text, SentenceSplitter().split_text(text))


CLOSING = ")]}」』】）”»"
spoken = st.lists(
    st.one_of(
        st.sampled_from(["Ja", "nein", "Ort 5", "z.B.", "はい", "と言う", "“", "「", "« ", "(", '"', "'", "–", "😀"]),
        st.sampled_from([". ", "! ", "?", "…", "。", "！", ".", ", ", ": ", " ", "\xa0", "\n"]),
        st.sampled_from([f"{space}{mark}{after}" for space in ("", " ") for mark in CLOSING for after in (" ", ", ")]),
    ),
    max_size=40,
).map("".join)


@pytest.mark.parametrize("language", ["en", "de", "fr", "ja", "ru", "he"])
@given(spoken)
@examples(60)
@example("« Ja ! », nein. « Ja\xa0!\xa0» nein. (Ja! ) Ort.")
@example("Ja! ” ) 」 Ort. 😀 ) Ja.")
def test_a_sentence_never_begins_with_a_closing_mark(language: str, text: str) -> None:
    paragraph = re.sub("[ \\n]+", " ", text)  # wide white space parts columns
    marks = CLOSING.replace("»", "") if language == "de" else CLOSING  # it opens in German, too: »Ja«
    sentences = SentenceSplitter(language, structure="plain").spans(paragraph)
    assert [paragraph[start:end] for start, end in sentences[1:] if paragraph[start] in marks] == []


HOSTILE = {
    "newlines": "\n" * 50_000,
    "full stops": "." * 50_000,
    "question marks": "?" * 50_000,
    "brackets": "[" * 50_000,
    "quotes": '"' * 50_000,
    "no punctuation": "word " * 50_000,
    "table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000,
    "nested list": "".join("  " * depth + "- item\n" for depth in range(300)),
    "nested quote": ">" * 5_000 + " deep",
    "lone surrogates": "\ud800 \udfff. " * 5_000,
    "NULs": "a\x00b. " * 5_000,
    "joined emoji": "👩\u200d👩\u200d👧. " * 5_000,
    "combining marks": ("e" + "\u0301" * 50 + ". ") * 1_000,
    "all line ends": "One.\rTwo.\r\nThree.\nFour.\u2028Five.\x85" * 1_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_sentences_are_exact_for_hostile_text(text: str) -> None:
    sentences = SentenceSplitter().split_text(text)
    assert_exact(text, sentences)
    assert bool(sentences) == bool(text.strip())


@given(st.text(max_size=100), st.lists(st.integers(-5, 110)))
def test_pieces_lose_nothing_wherever_the_cuts_are(text: str, cuts: list[int]) -> None:
    spans = list(pieces(text, 0, len(text), cuts))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(trim(text, *span) == span for span in spans)


def test_the_same_text_gives_the_same_spans_whatever_was_split_before_and_in_every_thread() -> None:
    text = "He met Mr. Smith at 5 p.m. Then U.S. agents came. See Sec. 4 of Corp. Law."
    splitter = SentenceSplitter()
    before = splitter.spans(text)
    results: list[list[tuple[int, int]]] = []

    def work(number: int) -> None:
        for _ in range(20):
            splitter.spans(f"Corp. {number} is big. agents Law. Sec. Then. " * number)
            results.append(splitter.spans(text))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 160
    assert all(result == before for result in results)


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_sentences_are_the_same_whatever_ends_a_line(line_end: str) -> None:
    text = "# Fees\n\nA line that is too long for the column it stands in, so that\nit goes on. Two.\n\n- One\n- Two\n"
    expected = [text[start:end] for start, end in SentenceSplitter().spans(text)]
    other = text.replace("\n", line_end)
    found = [other[start:end].replace(line_end, "\n") for start, end in SentenceSplitter().spans(other)]
    assert found == expected
    assert len(expected) == 5


def test_sections_nest_and_a_heading_begins_its_own() -> None:
    text = "Preface.\n\n# A\n\nOne. Two.\n\n## B\n\nThree.\n\n# C\n\nFour."
    found = [
        (text[s.start : s.end], s.heading, s.section_start, s.section_end) for s in SentenceSplitter().split_text(text)
    ]
    assert found == [
        ("Preface.", "", 0, 1),
        ("# A", "A", 1, 4),
        ("One.", "A", 1, 4),
        ("Two.", "A", 1, 4),
        ("## B", "A > B", 4, 6),
        ("Three.", "A > B", 4, 6),
        ("# C", "C", 6, 8),
        ("Four.", "C", 6, 8),
    ]


def test_a_heading_in_a_quote_or_an_item_begins_no_section() -> None:
    text = "# A\n\n> # Quoted\n\n- # Listed\n\nText."
    assert {(s.section_start, s.section_end, s.heading) for s in SentenceSplitter().split_text(text)} == {(0, 4, "A")}


def test_documents_become_sentence_documents_by_the_metadata_contract() -> None:
    given = Document(
        page_content="# A\n\nOne. Two.  Three.", metadata={"source": "a.md", "year": 3, "tags": ["x"]}, id="doc"
    )
    with pytest.warns(SentenceWindowWarning, match="many a store can't hold it: 'tags'; add the documents with"):
        made = SentenceSplitter().split_documents([given])
    assert [document.page_content for document in made] == ["# A", "One.", "Two.", "Three."]
    common = {"source": "a.md", "year": 3, "doc_id": "doc", "section_start": 0, "section_end": 4, "heading": "A"}
    assert [document.metadata for document in made] == [
        {
            **common,
            "sentence_index": 0,
            "start_index": 0,
            "end_index": 3,
            "separator": "\n\n",
            "kind": "heading",
            "start_line": 1,
        },
        {**common, "sentence_index": 1, "start_index": 5, "end_index": 9, "start_line": 3},
        {**common, "sentence_index": 2, "start_index": 10, "end_index": 14, "separator": "  ", "start_line": 3},
        {**common, "sentence_index": 3, "start_index": 16, "end_index": 22, "start_line": 3},
    ]
    assert len({document.id for document in made}) == 4
    assert given.metadata == {"source": "a.md", "year": 3, "tags": ["x"]}
    with pytest.warns(SentenceWindowWarning, match="'tags'"):
        again = SentenceSplitter().transform_documents([given])
    assert [document.id for document in again] == [document.id for document in made]


def test_a_document_is_named_by_its_id_else_its_metadata_else_its_source_else_a_hash() -> None:
    documents = [
        Document(page_content="One.", id="by-id", metadata={"doc_id": "ignored"}),
        Document(page_content="Two.", metadata={"doc_id": 7}),
        Document(page_content="Three.", metadata={"source": "x"}),
        Document(page_content="Three.", metadata={"source": "x", "page": 2}),
        Document(page_content="Three.", metadata={"source": "y"}),
        Document(page_content="Four."),
        Document(page_content="Four."),
    ]
    names = [document.metadata["doc_id"] for document in SentenceSplitter().split_documents(documents)]
    assert names[:5] == ["by-id", "7", "x", "x", "y"]
    assert len(set(names)) == 6
    assert names == [document.metadata["doc_id"] for document in SentenceSplitter().split_documents(documents)]


@pytest.mark.parametrize("name", ["", "a\x00b", "\ud800"])
def test_a_doc_id_that_stores_cannot_keep_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="can't be a doc_id"):
        SentenceSplitter().split_documents([Document(page_content="One.", metadata={"doc_id": name})])


def test_an_engine_that_leaves_its_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"\(0, 99\) for a text of 4 characters"):
        SentenceSplitter(engine=lambda text: [(0, 99)]).spans("One.")


@pytest.mark.parametrize("engine", ["punkt", "sentencex", "nupunkt", lambda text: [(0, 13), (13, len(text))]])
def test_other_engines_stand_behind_the_same_structure_layer(engine: Any) -> None:
    text = "# Title. Here\n\nThe first one. The second one.\n- An item. Again"
    splitter = SentenceSplitter(engine=engine)
    found = splitter.split_text(text)
    assert_exact(text, found)
    assert text[found[0].start : found[0].end] == "# Title. Here"
    assert [text[s.start : s.end] for s in found][1:3] == ["The first one.", "The second one."] or callable(engine)


@pytest.mark.parametrize("engine", ["punkt", "sentencex", "nupunkt"])
@given(text=texts)
@examples(25)
def test_sentences_of_other_engines_are_exact_for_any_string(engine: str, text: str) -> None:
    assert_exact(text, SentenceSplitter(engine=engine).split_text(text))


def test_sentencex_brings_other_languages() -> None:
    text = "यह पहला वाक्य है। यह दूसरा है।"
    assert SentenceSplitter("hi").spans(text) == SentenceSplitter("hi", engine="sentencex").spans(text)
    assert len(SentenceSplitter("hi").spans(text)) == 2


@pytest.mark.parametrize("language", ["zh", "ur", "sv", "als", "gsw", "ary"])
def test_sentencex_is_asked_for_what_it_knows_by_a_near_language_too(language: str) -> None:
    assert len(SentenceSplitter(language).spans("One. Two? 三。")) >= 2


def test_a_callable_may_cut_a_language_that_nobody_knows() -> None:
    assert SentenceSplitter("tlh", engine=lambda text: [(0, 4), (5, 9)]).spans("nuqH neH.") == [(0, 4), (5, 9)]


def test_indented_lines_are_code_where_the_text_is_said_to_be_markdown() -> None:
    text = "# Use\n\nCall it. So:\n\n    x = f(1). Y\n    z()\n\nDone."
    kinds = [(text[s.start : s.end], s.kind) for s in SentenceSplitter(structure="markdown").split_text(text)]
    assert ("x = f(1). Y\n    z()", "code") in kinds
    assert "code" not in {s.kind for s in SentenceSplitter().split_text(text)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "hi", "engine": "punkt"}, 'word lists for de, en, es, fr, it, pt.*engine="sentencex"'),
        ({"language": "English"}, "language is 'English'; it must be an ISO 639 code, likely \"en\" here"),
        ({"language": "english"}, 'likely "en" here. There are word lists for de, en, es, fr, it, pt'),
        ({"language": "EN"}, 'likely "en" here'),
        ({"language": "de_DE"}, 'likely "de" here'),
        ({"language": "pt-br"}, 'likely "pt" here'),
        ({"language": "deu"}, 'likely "de" here'),
        ({"language": "jp"}, 'likely "ja" here'),
        ({"language": "japanes"}, 'likely "ja" here'),
        ({"language": "xx"}, "language is 'xx'; it must be an ISO 639 code. There are word lists for de, en"),
        ({"language": "xx", "engine": "sentencex"}, "language is 'xx'"),
        ({"language": "xx", "engine": "punkt"}, "language is 'xx'"),
        ({"language": "tlh"}, "for any other language, give a callable as engine"),
        ({"language": ""}, "language is ''; it must be an ISO 639 code"),
        ({"language": None}, "language is None; it must be an ISO 639 code"),
        ({"engine": []}, r"engine is \[\]; there are punkt"),
        ({"engine": "spacy"}, "there are punkt, sentencex, nupunkt, and any callable"),
        ({"engine": "nupunkt", "language": "de"}, "knows English only"),
        ({"min_chars": -1}, "min_chars is -1"),
        ({"min_chars": 9, "max_chars": 8}, "min_chars is 9 and max_chars is 8"),
        ({"inline_window": -1}, "window is -1"),
        ({"structure": "html"}, "must be one of auto, markdown, plain"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SentenceSplitter(**arguments)


def test_a_missing_engine_is_an_error_with_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingExtraError, match=r'pip install "langchain-sentence-window\[languages\]"'):
        SentenceSplitter(engine="sentencex")


def test_structure_can_be_said_and_is_told_by_the_marks_of_markdown() -> None:
    text = "# 1 is a number\n# 2 is another"
    assert [s.kind for s in SentenceSplitter(structure="plain").split_text(text)] == ["prose", "prose"]
    assert [s.kind for s in SentenceSplitter(structure="markdown").split_text(text)] == ["heading", "heading"]
    assert [s.kind for s in SentenceSplitter().split_text(text)] == ["heading", "heading"]
    assert [s.kind for s in SentenceSplitter().split_text(text.replace("#", "No."))] == ["prose", "prose"]


def test_plain_text_has_headings_too() -> None:
    text = "1. Scope\n\nThis applies.\n\n1.1 Exceptions\n\nNone of them.\n\nFINAL PROVISIONS\n\nIt ends."
    assert [(text[s.start : s.end], s.kind, s.heading) for s in SentenceSplitter().split_text(text)] == [
        ("1. Scope", "heading", "1. Scope"),
        ("This applies.", "prose", "1. Scope"),
        ("1.1 Exceptions", "heading", "1. Scope > 1.1 Exceptions"),
        ("None of them.", "prose", "1. Scope > 1.1 Exceptions"),
        ("FINAL PROVISIONS", "heading", "FINAL PROVISIONS"),
        ("It ends.", "prose", "FINAL PROVISIONS"),
    ]


@given(text=texts, min_chars=st.integers(0, 12), more=st.integers(1, 30))
def test_no_unit_is_longer_than_the_longest_and_nothing_is_lost(text: str, min_chars: int, more: int) -> None:
    max_chars = min_chars + more
    splitter = SentenceSplitter(min_chars=min_chars, max_chars=max_chars)
    found = splitter.split_text(text)
    assert_exact(text, found)
    assert all(s.end - s.start <= max_chars for s in found)


def test_short_sentences_join_their_neighbor_in_the_paragraph() -> None:
    text = "Yes. It is refunded within a week. Ok.\n\nNo."
    spans = SentenceSplitter(min_chars=6).spans(text)
    assert [text[start:end] for start, end in spans] == ["Yes. It is refunded within a week. Ok.", "No."]


def test_long_sentences_are_cut_at_clauses_then_at_white_space_then_where_they_must() -> None:
    text = "A clause that ends here, another one without an end and averyveryverylongword"
    spans = SentenceSplitter(max_chars=30).spans(text)
    assert [text[start:end] for start, end in spans] == [
        "A clause that ends here,",
        "another one without an end",
        "and averyveryverylongword",
    ]
    assert [end - start for start, end in SentenceSplitter(max_chars=30).spans("x" * 70)] == [30, 30, 10]


def test_a_megabyte_without_a_full_stop_is_cut_into_what_an_embedder_reads() -> None:
    text = "word " * 200_000
    spans = SentenceSplitter().spans(text)
    assert len(spans) == 500
    assert all(end - start <= 2_000 for start, end in spans)


def test_elements_of_unstructured_keep_their_kinds() -> None:
    elements = [
        ("Title", "1. Scope. And more", ["1. Scope. And more"]),
        ("NarrativeText", "# One. Two.", ["# One.", "Two."]),
        ("ListItem", "One. Two.", ["One.", "Two."]),
        ("Table", "a b. C d.", ["a b. C d."]),
        ("Unknown", "# Heading\n\nOne.", ["# Heading", "One."]),
    ]
    documents = [Document(page_content=text, metadata={"category": category}) for category, text, _ in elements]
    made = SentenceSplitter().split_documents(documents)
    assert [document.page_content for document in made] == [part for _, _, parts in elements for part in parts]
    kinds = [document.metadata.get("kind", "prose") for document in made]
    assert kinds == ["heading", "prose", "prose", "list_item", "list_item", "table_row", "heading", "prose"]


def test_windows_can_be_written_into_the_metadata() -> None:
    text = "# A\n\nOne. Two.  Three.\n\n# B\n\nFour."
    made = SentenceSplitter(inline_window=(1, 2)).split_documents([Document(page_content=text, id="a")])
    assert [(each.metadata["window_text"], each.metadata["window_spans"]) for each in made] == [
        ("# A\n\nOne. Two.", "0:3 5:9 10:14"),
        ("# A\n\nOne. Two.  Three.", "-5:-2 0:4 5:9 11:17"),
        ("One. Two.  Three.", "-5:-1 0:4 6:12"),
        ("Two.  Three.", "-6:-2 0:6"),
        ("# B\n\nFour.", "0:3 5:10"),
        ("# B\n\nFour.", "-5:-2 0:5"),
    ]
    assert "window_text" not in SentenceSplitter().split_documents([Document(page_content=text)])[0].metadata


def test_an_empty_markdown_text_has_no_sentence() -> None:
    assert SentenceSplitter(structure="markdown").spans("") == []
