"""Messages as Outlook saves them (MSG)."""

import io
from collections.abc import Iterator

import oxmsg
from langchain_core.documents import Document

from sentence_window.files.file_bytes import clean_text
from sentence_window.files.html.parts import text_html

from .messages import head_html, message_document


def read_msg(data: bytes, name: str) -> Iterator[Document]:
    """Read a message as one Document, with a warning of attached files."""
    message = oxmsg.Message.load(io.BytesIO(data))
    people = ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients if each.email_address)
    known = {"From": message.sender, "To": people, "Date": message.sent_date, **message.message_headers}
    subject = clean_text(message.subject or "")
    parts = [head_html(subject, known), message.html_body or text_html(message.body or "")]
    yield message_document(
        name, subject, parts, ((each.file_name or "unnamed").strip() for each in message.attachments)
    )
