"""A program that serves a small page: ``python -m app.tests.studio.served PORT [TOKEN]``."""

import sys

from app.tests.studio.making import small_retriever
from sentence_window.studio import serve_studio

if __name__ == "__main__":
    given, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    serve_studio(small_retriever(), port=int(given), token=token)
