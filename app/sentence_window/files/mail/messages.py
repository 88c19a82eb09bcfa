"""What EML and MSG share: the head of a message, and the Document with a warning of attached files."""

import warnings
from collections.abc import Iterable
from contextlib import suppress
from email.header import decode_header, make_header
from html import escape
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import SentenceWindowWarning
from sentence_window.files.file_bytes import clean_text
from sentence_window.files.html.parts import document_of

MAX_FIELD_CHARS = 20_000
"""Characters of the longest header field that is decoded; decoding takes quadratic time."""


def head_html(subject: str, fields: Any) -> str:
    """Return the subject, the people and the date of a message as HTML."""
    items = ((key, decoded_field(fields.get(key) or "")) for key in ("From", "To", "Cc", "Date"))
    people = "".join(f"<li>{key}: {escape(value)}</li>" for key, value in items if value)
    return f"<h1>{escape(subject)}</h1><ul>{people}</ul>"


def decoded_field(value: Any) -> str:
    """Return a header field on one line, decoded if possible."""
    decoded = str(value)
    with suppress(LookupError, ValueError):
        decoded = str(make_header(decode_header(decoded))) if len(decoded) <= MAX_FIELD_CHARS else decoded
    return clean_text(" ".join(decoded.split()))


def message_document(name: str, subject: str, parts: Iterable[Any], attached: Iterable[str]) -> Document:
    """Return a message as a Document, and warn of attached files, whose names are complete once the parts are read."""
    document, names = document_of(name, parts, subject), ", ".join(map(shown, attached))
    if names:
        message = f"{name} has attachments, which aren't read: {names}; save them as files"
        warnings.warn(message, SentenceWindowWarning, stacklevel=3)
    return document
