"""Answer a question from the demo's documents, streamed and cited.

    OPENAI_API_KEY=… python examples/rag_chain.py ["Can I pay by bank transfer?"]

OPENAI_MODEL and OPENAI_BASE_URL choose another model, or another service that speaks OpenAI's API.
"""

import sys

from shared import DOCUMENTS, load_chat_model, load_embeddings, read_documents
from showing import show_answer

from langchain_sentence_window import LateInteractionReranker, SentenceWindowRetriever, create_rag_chain

QUESTION = "Can I settle a yearly bill of 350 euros from our bank account by wire?"


def main() -> None:
    """Index the documents in memory, and answer."""
    model = load_chat_model()
    if model is None:
        sys.exit("Set OPENAI_API_KEY, or OPENAI_BASE_URL and any key for a service of your own.")
    embedding = load_embeddings()
    retriever = SentenceWindowRetriever.from_documents(
        read_documents(DOCUMENTS), embedding, k=4, reranker=LateInteractionReranker(model=embedding)
    )
    chain = create_rag_chain(retriever, model)
    for part in chain.stream(sys.argv[1] if len(sys.argv) > 1 else QUESTION):
        show_answer(part)
    print()


if __name__ == "__main__":
    main()
