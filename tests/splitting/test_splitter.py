"""Sentences are exact for any string, and as the golden cases have them."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from tests.properties import examples

GOLDEN = Path(__file__).parent / "golden"
MARKUP = (
    "# ¦- ¦1. ¦| a | b |¦|---|¦```¦---¦===¦> ¦(a) ¦*¦[x]: y¦[10:06] Ann: ¦ANN: ¦Bob: ¦Ann  [10:06 AM]\n"
    "¦12/31/23, 10:06 PM - Bob: ¦**Fees**¦36\\.¦a: b\n¦Dr. ¦e.g. ¦. ¦? ¦! ¦ ¦\t¦\n¦\n\n¦\r\n¦\r¦\u2028¦\x0c¦\x85"
    "¦\ufeff¦\x00¦\ud800¦\u200b¦😀¦\u0301¦\xa0¦\x1c"
)
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=300),
    st.lists(st.one_of(st.sampled_from(MARKUP.split("¦")), st.text("abcXYZ ", max_size=8)), max_size=60).map("".join),
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
    """Return whether a gap between sentences holds only white space and rules of Markdown."""
    return not "".join(gap.split()).strip("-*_=")


def assert_exact(text: str, sentences: list[Any]) -> None:
    at = sentences[0].start if sentences and text.startswith(("---", "\ufeff---")) else 0  # after front matter
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


def test_spans_depend_on_the_text_alone_in_any_thread() -> None:
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
def test_sentences_are_the_same_for_any_line_end(line_end: str) -> None:
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
def test_an_invalid_doc_id_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="can't be a doc_id"):
        SentenceSplitter().split_documents([Document(page_content="One.", metadata={"doc_id": name})])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "English"}, "language is 'English'; it must be an ISO 639 code, likely \"en\" here"),
        ({"language": "pt-br"}, 'likely "pt" here. There are word lists for de, en, es, fr, it, pt'),
        ({"language": "deu"}, 'likely "de" here'),
        ({"language": "xx", "engine": "sentencex"}, "language is 'xx'; it must be an ISO 639 code. There are"),
        ({"language": "tlh"}, "for any other language, give a callable as engine"),
        ({"language": None}, "language is None; it must be an ISO 639 code"),
        ({"engine": []}, r"engine is \[\]; it must be"),
        ({"engine": "spacy", "language": "auto"}, "engine is 'spacy'; it must be"),
        ({"max_chars": 0}, "max_chars is 0; it must be a whole number of characters, 1 or more"),
        ({"inline_window": -1}, "window is -1"),
        ({"structure": "html"}, "must be one of auto, markdown, plain"),
        ({"join_parts": ""}, "join_parts is ''"),
    ],
)
def test_an_invalid_setting_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SentenceSplitter(**arguments)


def test_auto_detects_markdown_by_its_marks() -> None:
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


@given(text=texts, max_chars=st.integers(1, 42))
def test_no_unit_is_longer_than_max_chars(text: str, max_chars: int) -> None:
    found = SentenceSplitter(max_chars=max_chars).split_text(text)
    assert_exact(text, found)
    assert all(s.end - s.start <= max_chars for s in found)


@pytest.mark.parametrize("engine", ["sentencex", lambda text: [(0, 13), (13, len(text))]])
def test_an_engine_gets_paragraphs(engine: Any) -> None:
    text = "# Title. Here\n\nThe first one. The second one.\n- An item. Again"
    found = SentenceSplitter(engine=engine).split_text(text)
    assert_exact(text, found)
    assert [text[s.start : s.end] for s in found][:2] == [
        "# Title. Here",
        "The first one." if engine == "sentencex" else "The first one",
    ]


@given(text=texts, language=st.sampled_from(["en", "hi", "gsw"]))
@examples(40)
def test_sentences_of_sentencex_are_exact_for_any_string(text: str, language: str) -> None:
    assert_exact(text, SentenceSplitter(language, engine="sentencex").split_text(text))


def test_sentencex_supports_other_languages_and_similar_ones() -> None:
    text = "यह पहला वाक्य है। यह दूसरा है।"
    assert len(SentenceSplitter("hi").spans(text)) == 2
    for language in ("zh", "ur", "als", "gsw", "ary"):
        assert len(SentenceSplitter(language).spans("One. Two? 三。")) >= 2


@pytest.mark.parametrize("returned", [[(0, 99)], [(-1, 2)], [(0, "4")], [(0,)], [7], "ab", None, 7])
def test_invalid_spans_of_an_engine_are_refused(returned: Any) -> None:
    with pytest.raises(InvalidInputError, match="the sentence engine returned"):
        SentenceSplitter(engine=lambda text: returned).spans("One.")


def test_indented_lines_are_code_and_quoted_headings_begin_no_section_in_markdown() -> None:
    text = "# Use\n\nCall it. So:\n\n    x = f(1). Y\n    z()\n\n> # Quoted\n\n- # Listed\n\nDone."
    found = SentenceSplitter(structure="markdown").split_text(text)
    assert ("x = f(1). Y\n    z()", "code") in [(text[s.start : s.end], s.kind) for s in found]
    assert {(s.section_start, s.section_end, s.heading) for s in found} == {(0, len(found), "Use")}
    assert "code" not in {s.kind for s in SentenceSplitter().split_text(text)}
