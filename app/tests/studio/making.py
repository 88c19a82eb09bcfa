"""Small pages for tests, without a model."""

import json
from typing import Any

from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

ADDRESS = "http://127.0.0.1:8321"
TERMS = "A refund is quick. It takes days.\n\n# Cards\n\nA card has a limit. Each seat has a card."


def small_retriever(**settings: Any) -> SentenceWindowRetriever:
    given = [document(TERMS, "terms", source="terms.md"), document("A seat is free. Für alle.", "other")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **{**BY_COSINE, **settings})


def client_of(retriever: SentenceWindowRetriever, *, address: str = ADDRESS, **settings: Any) -> TestClient:
    """Return a client that follows no redirect and keeps no cookie by itself."""
    return TestClient(create_studio(retriever, **settings), base_url=address, follow_redirects=False)


def read(client: TestClient, path: str, status: int = 200, /, **given: object) -> Any:
    answer = client.get(f"/api/{path}", params={name: str(value) for name, value in given.items()})
    assert answer.status_code == status, answer.text
    return answer.json()


def call(client: TestClient, path: str, status: int = 200, /, **given: object) -> Any:
    """Return the reply of a call; of one that replies in lines, what the last line says is done."""
    # Not by `json=`, which refuses lone surrogates and NaN.
    answer = client.post(f"/api/{path}", content=json.dumps(given), headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    if answer.headers["content-type"] != "application/x-ndjson":
        return answer.json()
    last = json.loads(answer.text.splitlines()[-1])
    return last.get("done", last)


def refusal(client: TestClient, path: str, status: int, /, **given: object) -> str:
    """Return the message of a call that is refused."""
    return str(call(client, path, status, **given)["error"]["message"])
