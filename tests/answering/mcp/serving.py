"""A program that serves a small index: ``python -m tests.answering.mcp.serving stdio`` or ``http PORT [TOKEN]``.

Its embedder prints, as careless programs do, which must not disturb the client. With ``busy`` for ``http``, it takes
longer than a call may.
"""

import sys
import time

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server, serve_mcp
from tests.toys import WordEmbeddings, document

TEXT = "It begins. We pay. A refund is quick. It takes days. Not in May.\n\n# Cards\n\nA card has a limit. It ends."


class TalkativeEmbeddings(WordEmbeddings):
    seconds = 0.0

    def embed_query(self, text: str) -> list[float]:
        print("embedding", text)  # to stdout
        time.sleep(self.seconds)
        return super().embed_query(text)


def main(transport: str, port: str = "0", token: str | None = None) -> None:
    given = [document(TEXT, "terms", source="terms.md"), document("A seat is free. Für alle.", "other")]
    embeddings = TalkativeEmbeddings()
    retriever = SentenceWindowRetriever.from_documents(given, embeddings, k=1, window=0, ranking=None)
    embeddings.seconds = 0.5 if transport == "busy" else 0.0
    server = create_mcp_server(retriever, name="terms", timeout=0.1 if transport == "busy" else 30.0)
    if transport == "stdio":
        print("serving")  # waits in a buffer
        serve_mcp(server)
    else:
        serve_mcp(server, "http", port=int(port), token=token)


if __name__ == "__main__":
    main(*sys.argv[1:])
