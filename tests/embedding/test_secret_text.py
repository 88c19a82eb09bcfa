"""No secret is in a text that others read."""

import pytest

from langchain_sentence_window.embedding.secret_text import is_secret, without_secrets

NAMES = (
    "key", "api_key", "model_api_key", "openaiApiKey", "X-API-KEY", "apikey", "Ocp-Apim-Subscription-Key", "token",
    "hub_token", "accessToken", "secret", "client_secret", "password", "db_passwd", "credentials", "auth",
    "Proxy-Authorization", "cookie", "Set-Cookie", "headers", "default_headers", "signature", "X-Amz-Signature",
    "bearer", "jwt", "session_id", "private_key_pem", "sig", "pwd", "api_tokens",
)  # fmt: skip
"""Names of settings that hold secrets."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:pa@ss@host:8080/v1", "https://host:8080/v1"),
        ("https://host/a@v2", "https://host/a@v2"),
        ("https://host:80/a@v2", "https://host:80/a@v2"),
        ("hf://org/model@v2", "hf://org/model@v2"),
        ("https://host/f?code=abc&x=1", "https://host/f?code=...&x=1"),
        ("https://host/f?x=1&sig=abc%3D#t", "https://host/f?x=1&sig=..."),
        ("token=abc; model=b", "token=...; model=b"),
        ("title: none | text: ", "title: none | text: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("jinaai/jina-embeddings-v2-base-en", "jinaai/jina-embeddings-v2-base-en"),
        ("hf-internal-testing/tiny-random-model-2", "hf-internal-testing/tiny-random-model-2"),
        ("tokenizer=fast keywords: a", "tokenizer=fast keywords: a"),
        ("use sk-proj-0123456789abcdefghij now", "use ... now"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nx", "...\nx"),
    ],
)
def test_what_may_be_secret_is_removed_from_texts_and_nothing_else(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


def test_names_of_secrets_are_recognized() -> None:
    assert all(map(is_secret, NAMES))
    for name in ("model", "tokenizer", "tiktoken_enabled", "keywords", "author", "prompt", "pooling", "signal", "path"):
        assert not is_secret(name)
