"""A program that serves a small page: ``python -m tests.studio.served PORT [TOKEN]``."""

import sys

from langchain_sentence_window.studio import serve_studio
from tests.studio.making import small_retriever

if __name__ == "__main__":
    given, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    serve_studio(small_retriever(), port=int(given), token=token)
