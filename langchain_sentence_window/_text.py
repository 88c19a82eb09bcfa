"""Texts for libraries that are written in other languages."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers refuse, by ``?``; spans stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")
