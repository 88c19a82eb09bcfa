"""Texts as libraries of other languages take them."""


def encodable(text: str) -> str:
    """Put ``?`` for lone surrogates, which tokenizers refuse; spans stay true."""
    return text.encode("utf-8", "replace").decode("utf-8")
