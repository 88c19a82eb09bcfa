"""The encodings of text files."""

import codecs
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files import load_bytes


def decode(data: bytes, name: str) -> str:
    (document,) = load_bytes(data, name)
    return document.page_content


GERMAN = (
    "Die Gebühr für den Stuhl ist fällig, sobald die Prüfung abgeschlossen ist. Über Änderungen der Verträge "
    "entscheidet die Geschäftsführung; größere Beträge müssen schriftlich bestätigt werden."
)
MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", MARKED)
@given(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"),
    )
)
def test_a_byte_order_mark_decides_and_isnt_text(encoding: str, text: str) -> None:
    text = f".{text}"
    assert decode(MARKED[encoding] + text.encode(encoding), "a.md") == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_a_text_without_a_mark_is_utf_8_character_for_character(text: str) -> None:
    assert decode(b"." + text.encode(), "a.md") == "." + text


@given(st.binary())
def test_any_bytes_are_text_that_can_be_stored_or_an_error(data: bytes) -> None:
    with suppress(DocumentReadError):
        text = decode(data, "a.md")
        assert "\0" not in text
        assert text.encode().decode() == text


def test_an_old_encoding_is_detected() -> None:
    assert decode(GERMAN.encode("cp1252"), "a.txt") == GERMAN


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ("<META http-equiv=Content-Type content='text/html; charset=iso-8859-1'>", "cp1252"),
        ("<meta charset=shift_jis >", "shift_jis"),
    ],
)
def test_html_declares_its_encoding(declared: str, encoding: str) -> None:
    text = declared + {"cp1251": "Плата", "cp1252": "Gebühr: 3 €", "shift_jis": "料金"}[encoding]
    assert decode(text.encode(encoding), "a.html") == text.partition(">")[2]


@pytest.mark.parametrize("declared", ["unicode_escape", "utf-7", "rot13", "idna", "zlib", "../x", "utf-16"])
def test_html_cannot_declare_codecs_that_are_not_encodings_of_files(declared: str) -> None:
    text = f"<meta charset={declared}>a \\ud800 +2AA-"
    assert decode(text.encode(), "a.html") == "a \\ud800 +2AA-"


def test_a_wrong_declaration_doesnt_hide_utf_8() -> None:
    assert decode("<meta charset=euc-kr>Gebühr – fällig".encode(), "a.html") == "Gebühr – fällig"


def test_half_a_pair_in_utf_16_is_an_error() -> None:
    with pytest.raises(DocumentReadError, match="in an unknown encoding; open it in an editor and save it as UTF-8"):
        decode(codecs.BOM_UTF16_LE + b"\x00\xd8a\x00", "a.txt")


def test_utf_16_without_a_mark_is_an_error_that_names_it() -> None:
    with pytest.raises(DocumentReadError, match="UTF-16 without a byte order mark"):
        decode("Pay now.".encode("utf-16-le"), "a.txt")


def test_a_few_nul_bytes_in_a_page_are_left_out() -> None:
    assert decode(b"<p>a\0b</p>", "a.html") == "ab"
    assert "\0" not in decode("<p>é\0é</p>".encode("cp1252") + GERMAN.encode("cp1252"), "a.html")
    for data, name in ((b"a\0b" * 9, "a.txt"), ("<p>a</p>".encode("utf-16-le"), "a.html")):
        with pytest.raises(DocumentReadError, match=rf"^{name} holds NUL characters"):
            decode(data, name)
