"""Messages as mail programs send them (EML, RFC 822)."""

import json
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from itertools import chain
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.html.parts import text_html
from sentence_window.files.text_encoding import decode_as

from .messages import decoded_field, head_html, message_document


def read_eml(data: bytes, name: str) -> Iterator[Document]:
    """Read a message as one Document, with a warning of attached files.

    Raises:
        DocumentReadError: It has no header.
    """
    if b"\0" in data[:4]:  # UTF-16 or UTF-32
        data = data.decode(json.detect_encoding(data), "replace").encode()
    message = message_from_bytes(data)
    if not message.keys():
        raise DocumentReadError(f"{name} has no header, so it isn't a message; save it again, or as .txt")
    attached: list[str] = []
    yield message_document(
        name, decoded_field(message.get("Subject", "")), _parts_of_message(message, attached), attached
    )


def _parts_of_message(message: Message, attached: list[str]) -> Iterator[Any]:
    """Yield the head and the texts of a message; add the names of attached files to a list."""
    yield head_html(decoded_field(message.get("Subject", "")), message)
    yield from _parts_of_body(message, attached)


def _parts_of_body(part: Message, attached: list[str]) -> Iterator[Any]:
    """Yield the texts of a part of a message. Alternatives are a list that begins with the last one, the richest."""
    payload, kind = part.get_payload(), part.get_content_type()
    if isinstance(payload, list):
        read = _parts_of_message if kind == "message/rfc822" else _parts_of_body
        inner = [read(each, attached) for each in payload if isinstance(each, Message)]
        yield from [inner[::-1]] if kind == "multipart/alternative" else chain.from_iterable(inner)
    elif part.get_filename() or part.get_content_maintype() != "text" or part.get_content_disposition() == "attachment":
        attached.append(part.get_filename() or kind)
    else:
        data = part.get_payload(decode=True)
        text = decode_as(data, part.get_content_charset(), "utf-8") if isinstance(data, bytes) else ""
        yield text if part.get_content_subtype() == "html" else text_html(text)
