"""Answer from PDFs in verified quotes, and mark each quote on its page.

    OPENAI_API_KEY=… python examples/cited_pdf.py [--pdf FILE.pdf] [--out FOLDER] ["When does a notice take effect?"]

It needs the package sentence-window. OPENAI_MODEL and OPENAI_BASE_URL choose another model, or another service that
speaks OpenAI's API.
"""

import argparse
import sys
from pathlib import Path

from shared import load_chat_model, load_embeddings

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain
from langchain_sentence_window.errors import SentenceWindowError
from sentence_window.files import PDFLoader, highlight

AGREEMENT = Path(__file__).parent / "agreement.pdf"


def main() -> None:
    """Index the PDF, or all in a folder, answer, and write a picture for each quote."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default="When does a notice take effect?")
    parser.add_argument("--pdf", type=Path, default=AGREEMENT, help="a PDF, or a folder of PDFs")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder for the pictures")
    options = parser.parse_args()
    model = load_chat_model()
    if model is None:
        sys.exit("Set OPENAI_API_KEY, or OPENAI_BASE_URL and any key for a service of your own.")
    try:
        retriever = SentenceWindowRetriever.from_documents(PDFLoader(options.pdf).lazy_load(), load_embeddings(), k=4)
        chain = create_rag_chain(retriever, model, citations="quotes")
        for part in chain.stream(options.question):
            print(part.get("answer", ""), end="", flush=True)
            for quote in part.get("quotes", []):
                for place in quote.places:
                    name = f"{Path(str(place.doc_id)).stem}-{place.start}.png"
                    picture = highlight(place, options.out / name)
                    print(f"\n  {quote.verdict}: »{place.text}«, {place.location}, marked in {picture}")
    except SentenceWindowError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print()


if __name__ == "__main__":
    main()
