"""The language of a document: its metadata decides, else the splitter's setting, which may detect it."""

import copy
import pickle
import sys
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError, SentenceWindowWarning
from langchain_sentence_window.splitting import languages as detection
from langchain_sentence_window.splitting.languages import ISO_639_1, detected_language, plain_code
from tests.toys import WordEmbeddings


def language_of(text: str, metadata: dict[str, Any], language: str) -> str:
    return detection.language_of(text, [(metadata, len(text))], language)


TEXTS = {
    "de": "Der Vertrag endet am 31. Dezember, wenn ihn niemand verlängert. Das gilt auch für Hr. Maier.",
    "en": "The agreement ends in December unless somebody extends it. This binds Mr. Hale and his heirs as well.",
    "es": "El contrato termina en diciembre si nadie lo prorroga. También vale para el Sr. Ruiz y sus herederos.",
    "fr": "Le contrat se termine en décembre si personne ne le prolonge. Cela vaut aussi pour M. Roux et ses enfants.",
    "it": "Il contratto finisce in dicembre se nessuno lo proroga. Questo vale anche per il sig. Rossi e i suoi eredi.",
    "pt": "O contrato termina em dezembro se ninguém o prorrogar. Isto vale também para o Sr. Reis e os seus filhos.",
    "da": "Aftalen slutter i december, hvis ingen forlænger den. Det gælder også for hr. Holm og hans arvinger.",
    "ru": "Договор заканчивается в декабре, если никто его не продлит. Это касается и г. Петрова с его детьми.",
    "ja": "契約は誰も延長しなければ十二月に終わります。これは彼とその家族にも当てはまります。",
}
GERMAN = "Der Umbau begann am 31. Oktober. Hr. Maier kam z. B. am 3. Mai und blieb."


class Tongue(StrEnum):
    GERMAN = "de"


def sentences(splitter: SentenceSplitter, text: str, metadata: dict[str, Any]) -> list[str]:
    return [made.page_content for made in splitter.split_documents([Document(text, metadata=metadata)])]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"language": "de"}, "de"),
        ({"language": " DE "}, "de"),
        ({"language": "de-AT"}, "de"),
        ({"language": "de_DE.UTF-8"}, "de"),
        ({"language": "deu"}, "de"),
        ({"language": "ger"}, "de"),
        ({"language": "deu_Latn"}, "de"),
        ({"language": "zh-Hans-CN"}, "zh"),
        ({"language": "arb"}, "ar"),
        ({"language": "iw"}, "he"),
        ({"language": "gsw"}, "gsw"),
        ({"language": ["fra"]}, "fr"),
        ({"language": Tongue.GERMAN}, "de"),
        ({"languages": ["ita"]}, "it"),
        ({"language": "it", "languages": ["eng"]}, "it"),
        *(({"language": word}, "pt") for word in ("", " ", "und", "mul", "No language found.", "No language found")),
        *(({"language": word}, "pt") for word in ("python", "cpp", "js", None, float("nan"), [], ["eng", "deu"])),
        *(({"languages": several}, "pt") for several in (["eng", "deu"], [""], ["xyz"], None, 3, "eng deu", [3])),
        ({}, "pt"),
    ],
)
def test_metadata_says_the_language_as_loaders_write_it(metadata: dict[str, Any], expected: str) -> None:
    before = copy.deepcopy(metadata)
    assert language_of("x", metadata, "pt") == expected
    assert [(key, type(value)) for key, value in metadata.items()] == [
        (key, type(value)) for key, value in before.items()
    ]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("xx", "'xx'; it must be an ISO 639 code. "),
        ("German", "'German'; it must be an ISO 639 code, likely \"de\" here. "),
        ("tlh", "'tlh'"),
        ("d", "'d'"),
        ("{{ lang }}", "'{{ lang }}'"),
        ("\ud800", "."),
        ("de\x00", "."),
        ("x" * 100_000, "'xxx"),
        (["xx"], "'xx'"),
        (7, "7"),
        (True, "True"),
        ({"code": "de"}, "."),
        (b"de", "b'de'"),
        ([["de"]], "."),
    ],
)
def test_a_language_that_nobody_knows_is_refused_and_names_document_and_cure(said: object, shown: str) -> None:
    documents = [Document("One. Two.", id="fine"), Document("Eins. Zwei.", id="odd", metadata={"language": said})]
    with pytest.raises(InvalidInputError, match=r"of document 'odd' is (?s:.*)leave the key out") as caught:
        SentenceSplitter().split_documents(documents)
    assert shown in str(caught.value)
    assert len(str(caught.value)) < 500


def test_nothing_is_stored_if_one_document_names_an_unknown_language(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    documents = [Document("A seat. A card.", id="a"), Document("A card.", id="b", metadata={"language": "xx"})]
    with pytest.raises(InvalidInputError, match="document 'b' .*Nothing was stored"):
        SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    assert len(store) == 0


def test_each_document_of_a_mixed_corpus_is_cut_by_the_rules_of_its_language() -> None:
    text = "Dia 5 p. ex. Maria veio. Er kam am 31. Dezember. Das war es."
    german = sentences(SentenceSplitter("de"), text, {})
    assert german != sentences(SentenceSplitter("en"), text, {})
    assert sentences(SentenceSplitter("en"), text, {"language": "de-DE"}) == german
    assert sentences(SentenceSplitter("de"), text, {"language": "EN"}) == sentences(SentenceSplitter("en"), text, {})
    made = SentenceSplitter().split_documents([Document(text, metadata={"language": "de-DE"})])
    assert {each.metadata["language"] for each in made} == {"de-DE"}


@pytest.mark.parametrize(("code", "text"), TEXTS.items(), ids=TEXTS)
def test_auto_detects_the_language_where_the_metadata_does_not_say(code: str, text: str) -> None:
    auto = SentenceSplitter("auto")
    assert language_of(text, {}, "auto") == code
    assert language_of(text, {"language": "pt"}, "auto") == "pt"
    assert auto.spans(text) == SentenceSplitter(code).spans(text)
    assert language_of(text, {}, "en") == "en"


@pytest.mark.parametrize(
    "text",
    ["", " \n", "12.50 3 %", "Fees", "Invoice 4711-22", "{}();", "\x00", "\ud800", "?" * 10_000, "ok 2024-01-01"],
)
def test_what_is_too_short_to_tell_is_cut_as_english(text: str) -> None:
    assert detected_language(text) is None
    assert language_of(text, {}, "auto") == "en"


@given(st.text(st.characters(codec=None), max_size=300))
@example("\ud800" * 5_000)
@example("E\u0301" * 4_000)
def test_any_text_has_a_language(text: str) -> None:
    assert language_of(text, {}, "auto") in ISO_639_1
    assert language_of(text, {}, "auto") == language_of(text, {}, "auto")


def test_detection_reads_a_bounded_sample_of_beginning_middle_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Listening:
        def classify(self, text: str) -> tuple[str, float]:
            read.append(text)
            return "de", 1.0

    monkeypatch.setattr(detection, "_identifier", Listening)
    text = "a" * 1_000_000 + "m" * 1_000 + "z" * 1_000_000
    assert detected_language(text) == "de"
    assert read == ["\n".join(letter * detection.SAMPLE_CHARS for letter in "amz")]


def test_a_document_that_begins_and_ends_with_tables_of_numbers_is_detected_by_its_middle() -> None:
    numbers = "1,204.50 | 88 | 7\n" * 200
    assert detected_language(f"{numbers}\n{TEXTS['it'] * 10}\n{numbers}") == "it"


def test_auto_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(MissingExtraError, match=r'pip install "langchain-sentence-window\[languages\]"'):
        SentenceSplitter("auto")
    assert language_of(TEXTS["de"], {"language": "de"}, "en") == "de"


@pytest.mark.parametrize("language", ["en", "auto"])
def test_a_document_without_rules_here_is_cut_by_general_ones_with_one_warning(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    splitter = SentenceSplitter(language)
    said = {"language": "da"}
    documents = [
        Document(TEXTS["da"], metadata=said, id="x"),
        Document("Ja. Nej.", metadata=said),
        Document("Yes. No."),
    ]
    with pytest.warns(
        SentenceWindowWarning, match=r"document 'x' is in Danish \('da'\).*window\[languages\]"
    ) as caught:
        made = splitter.split_documents(documents)
    assert len(caught) == 1
    assert [each.page_content for each in made][-4:] == ["Ja.", "Nej.", "Yes.", "No."]
    splitter.split_documents(documents)
    with pytest.raises(MissingExtraError, match="sentencex .*is .*installed.*\\[languages\\]"):
        SentenceSplitter("da")


@pytest.mark.parametrize("engine", ["punkt", "nupunkt"])
def test_an_engine_of_few_languages_leaves_others_to_the_rules_for_them(engine: str) -> None:
    text = "Er kam am 31. Dezember. यह पहला वाक्य है। यह दूसरा है।"
    splitter = SentenceSplitter(engine=engine)
    hindi, german = ({"language": code} for code in ("hi", "de"))
    assert sentences(splitter, text, hindi) == sentences(SentenceSplitter("hi"), text, {})
    expected = SentenceSplitter("de", engine="punkt" if engine == "punkt" else None)
    assert sentences(splitter, text, german) == sentences(expected, text, {})


def test_parts_of_a_source_are_cut_by_the_language_of_most_of_their_text() -> None:
    def page(number: int, text: str, **said: Any) -> Document:
        return Document(text, metadata={"source": "a.pdf", "page": number, "total_pages": 3, **said})

    german = page(0, "Zum Haus.", languages=["eng"]), page(1, GERMAN, languages=["deu"]), page(2, "Ende.")
    with pytest.warns(SentenceWindowWarning, match="'languages'"):
        made = SentenceSplitter().split_documents(german)
    assert len(made) == len(sentences(SentenceSplitter("de"), GERMAN, {})) + 2
    detected = page(0, "Zum Haus."), page(1, GERMAN), page(2, TEXTS["de"])
    by_pages = SentenceSplitter("auto").split_documents(detected)
    assert [each.page_content for each in by_pages[1:3]] == sentences(SentenceSplitter("de"), GERMAN, {})
    with pytest.raises(InvalidInputError, match="document 'a.pdf' is 'xx'"):
        SentenceSplitter().split_documents([page(0, "A."), page(1, "B.", language="xx"), page(2, "C.")])


def test_a_callable_cuts_documents_of_every_language() -> None:
    asked: list[str] = []

    def engine(text: str) -> list[tuple[int, int]]:
        asked.append(text)
        return [(0, len(text))]

    splitter = SentenceSplitter("tlh", engine=engine)
    for code in ("de", "hi", "tlh"):
        assert sentences(splitter, "A. B. C.", {"language": code}) == ["A. B. C."]
    assert len(asked) == 3


def test_auto_goes_with_every_engine_and_refuses_what_is_none() -> None:
    text = TEXTS["de"]
    assert SentenceSplitter("auto", engine=lambda text: [(0, len(text))]).spans(text) == [(0, len(text))]
    assert SentenceSplitter("auto", engine="punkt").spans(text) == SentenceSplitter("de", engine="punkt").spans(text)
    with pytest.raises(InvalidInputError, match="engine is 'spacy'"):
        SentenceSplitter("auto", engine="spacy")


def test_a_copy_of_a_splitter_knows_as_many_languages() -> None:
    splitter = SentenceSplitter("auto")
    sentences(splitter, GERMAN, {"language": "de"})
    for copied in (pickle.loads(pickle.dumps(splitter)), copy.deepcopy(splitter)):  # noqa: S301
        assert repr(copied) == repr(splitter) == "SentenceSplitter(language='auto')"
        assert sentences(copied, GERMAN, {}) == sentences(splitter, GERMAN, {})


@pytest.mark.parametrize("code", ISO_639_1)
def test_every_code_stays_what_it_is(code: str) -> None:
    assert plain_code(code) == plain_code(f"{code.upper()}-XX") == code


@given(st.text(max_size=40))
def test_a_plain_code_is_plain(text: str) -> None:
    code = plain_code(text)
    assert code is None or plain_code(code) == code
