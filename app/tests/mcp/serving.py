"""A program that serves a small index: ``python -m app.tests.mcp.serving stdio`` or ``http PORT TOKEN``.

Its embedder prints, which must not disturb the client.
"""

import sys

from app.tests.mcp.conftest import DOCUMENTS
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server, serve_mcp
from tests.toys import WordEmbeddings


class PrintingEmbeddings(WordEmbeddings):
    def embed_query(self, text: str) -> list[float]:
        print("embedding", text)  # to stdout
        return super().embed_query(text)


def main(transport: str, port: str = "0", token: str | None = None) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, PrintingEmbeddings(), k=1, window=0, ranking=None)
    server = create_mcp_server(retriever, name="terms")
    if transport == "stdio":
        print("serving")  # waits in a buffer
        serve_mcp(server)
    else:
        serve_mcp(server, "http", port=int(port), token=token)


if __name__ == "__main__":
    main(*sys.argv[1:])
