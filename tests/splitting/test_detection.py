"""The language of a document: its metadata decides, else the splitter's setting, which may be to detect it."""

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
from tests.toys import WordEmbeddings

TEXTS = {
    "de": "Der Vertrag endet am 31. Dezember, wenn ihn niemand verlängert. Das gilt auch für Hr. Maier.",
    "en": "The agreement ends in December unless somebody extends it. This binds Mr. Hale and his heirs as well.",
    "es": "El contrato termina en diciembre si nadie lo prorroga. También vale para el Sr. Ruiz y sus herederos.",
    "fr": "Le contrat se termine en décembre si personne ne le prolonge. Cela vaut aussi pour M. Roux et ses enfants.",
    "ru": "Договор заканчивается в декабре, если никто его не продлит. Это касается и г. Петрова с его детьми.",
    "ja": "契約は誰も延長しなければ十二月に終わります。これは彼とその家族にも当てはまります。",
}
GERMAN = "Der Umbau begann am 31. Oktober. Hr. Maier kam z. B. am 3. Mai und blieb."
MIXED = "Dia 5 p. ex. Maria veio. Er kam am 31. Dezember. Das war es."
"""A text that German, Portuguese and English rules split differently."""


class Tongue(StrEnum):
    GERMAN = "de"


def sentences(splitter: SentenceSplitter, text: str, metadata: dict[str, Any]) -> list[str]:
    return [made.page_content for made in splitter.split_documents([Document(text, metadata=metadata)])]


def test_the_text_distinguishes_the_rules_of_languages() -> None:
    assert len({tuple(SentenceSplitter(code).spans(MIXED)) for code in ("de", "en", "pt")}) == 3


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        *(({"language": code}, "de") for code in ("de", " DE ", "de-AT", "de_DE.UTF-8", "deu", "ger", "deu_Latn")),
        ({"language": ["deu"]}, "de"),
        ({"language": Tongue.GERMAN}, "de"),
        ({"languages": ["deu"]}, "de"),
        ({"language": "de", "languages": ["eng"]}, "de"),
        *(({"language": word}, "pt") for word in ("", "und", "mul", "No language found.")),
        *(({"language": value}, "pt") for value in (None, float("nan"), [], ["eng", "deu"])),
        *(({"languages": value}, "pt") for value in (["eng", "deu"], [""], ["xyz"], None, 3, "eng deu", [3])),
        ({}, "pt"),
    ],
)
@pytest.mark.filterwarnings("ignore:metadata was left out")
def test_metadata_says_the_language_as_loaders_write_it(metadata: dict[str, Any], expected: str) -> None:
    before = copy.deepcopy(metadata)
    assert sentences(SentenceSplitter("pt"), MIXED, metadata) == sentences(SentenceSplitter(expected), MIXED, {})
    assert repr(metadata) == repr(before)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("xx", "'xx'; it must be an ISO 639 code. "),
        ("German", "'German'; it must be an ISO 639 code, likely \"de\" here. "),
        ("{{ lang }}", "'{{ lang }}'"),
        ("\ud800", "."),
        ("x" * 100_000, "'xxx"),
        (["xx"], "'xx'"),
        (7, "7"),
        (b"de", "b'de'"),
        ([["de"]], "."),
    ],
)
def test_an_unknown_language_is_refused_with_document_and_cure(said: object, shown: str) -> None:
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


@pytest.mark.parametrize(("code", "text"), TEXTS.items(), ids=TEXTS)
def test_auto_detects_the_language_where_the_metadata_does_not_say(code: str, text: str) -> None:
    auto, known = SentenceSplitter("auto"), SentenceSplitter(code)
    assert auto.spans(text) == known.spans(text)
    assert sentences(auto, MIXED, {"language": "pt"}) == sentences(SentenceSplitter("pt"), MIXED, {})
    picture = f"![Plan](data:image/png;base64,{1000 * 'QUJD'})"
    numbers = "1,204.50 | 88 | 7\n" * 200
    for whole in (f"{picture}\n\n{text}", f"{numbers}\n{text * 10}\n{numbers}"):  # only the text counts
        assert auto.spans(whole) == known.spans(whole)


@given(st.text(st.characters(codec=None), max_size=300))
@example("")
@example("Invoice 4711-22")
@example("\ud800" * 5_000)
@example("E\u0301" * 4_000)
def test_any_text_has_a_language(text: str) -> None:
    auto = SentenceSplitter("auto")
    assert auto.spans(text) == auto.spans(text)


def test_a_short_text_is_split_as_english() -> None:
    assert SentenceSplitter("auto").spans("12. Juni") == SentenceSplitter("en").spans("12. Juni")


def test_auto_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(MissingExtraError, match=r'pip install "langchain-sentence-window\[languages\]"'):
        SentenceSplitter("auto")


@pytest.mark.parametrize("language", ["en", "auto"])
def test_a_language_without_rules_here_is_split_by_general_ones_with_one_warning(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    splitter = SentenceSplitter(language)
    texts = ["Aftalen slutter i december.", "Ja. Nej."]
    documents = [Document(text, metadata={"language": "da"}, id=text) for text in texts] + [Document("Yes. No.")]
    with pytest.warns(
        SentenceWindowWarning, match=r"'Aftalen .*' is in Danish \('da'\).*window\[languages\]"
    ) as caught:
        made = splitter.split_documents(documents)
    assert len(caught) == 1
    assert [each.page_content for each in made][-4:] == ["Ja.", "Nej.", "Yes.", "No."]
    splitter.split_documents(documents)
    with pytest.raises(MissingExtraError, match="sentencex .*is .*installed.*\\[languages\\]"):
        SentenceSplitter("da")


def test_parts_of_a_source_are_split_by_the_language_of_most_of_their_text() -> None:
    def page(number: int, text: str, **said: Any) -> Document:
        return Document(text, metadata={"source": "a.pdf", "page": number, "total_pages": 3, **said})

    german = page(0, "Zum Haus.", languages=["eng"]), page(1, GERMAN, languages=["deu"]), page(2, "Ende.")
    with pytest.warns(SentenceWindowWarning, match="'languages'"):
        made = SentenceSplitter().split_documents(german)
    assert len(made) == len(sentences(SentenceSplitter("de"), GERMAN, {})) + 2
    with pytest.raises(InvalidInputError, match="document 'a.pdf' is 'xx'"):
        SentenceSplitter().split_documents([page(0, "A."), page(1, "B.", language="xx"), page(2, "C.")])


def test_a_callable_splits_documents_of_every_language() -> None:
    def whole(text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    for splitter in (SentenceSplitter("tlh", engine=whole), SentenceSplitter("auto", engine=whole)):
        for code in ("de", "hi", "fr"):
            assert sentences(splitter, "A. B. C.", {"language": code}) == ["A. B. C."]


def test_a_copy_of_a_splitter_knows_as_many_languages() -> None:
    splitter = SentenceSplitter("auto")
    sentences(splitter, GERMAN, {"language": "de"})
    for copied in (pickle.loads(pickle.dumps(splitter)), copy.deepcopy(splitter)):  # noqa: S301
        assert repr(copied) == repr(splitter) == "SentenceSplitter(language='auto')"
        assert sentences(copied, GERMAN, {}) == sentences(splitter, GERMAN, {})
