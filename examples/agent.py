"""An agent that searches the demo's documents and answers with citations.

    OPENAI_API_KEY=… python examples/agent.py ["Can I pay by bank transfer?"]

It needs the extra "agents". OPENAI_MODEL and OPENAI_BASE_URL choose another model, or another service
that speaks OpenAI's API and calls tools.
"""

import sys

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from shared import DOCUMENTS, load_chat_model, load_embeddings, read_documents

from langchain_sentence_window import SentenceWindowMiddleware, SentenceWindowRetriever

QUESTION = "Can I settle a yearly bill of 350 euros from our bank account by wire?"


def main() -> None:
    """Index the documents in memory, and let the agent work."""
    model = load_chat_model()
    if model is None:
        sys.exit("Set OPENAI_API_KEY, or OPENAI_BASE_URL and any key for a service of your own.")
    retriever = SentenceWindowRetriever.from_documents(read_documents(DOCUMENTS), load_embeddings(), k=3)
    agent = create_agent(model, middleware=[SentenceWindowMiddleware(retriever, require_citations=True)])
    question = sys.argv[1] if len(sys.argv) > 1 else QUESTION
    state = agent.invoke({"messages": [HumanMessage(question)]})
    for message in state["messages"][1:]:
        for call in getattr(message, "tool_calls", []):
            print(f"→ {call['name']} {call['args']}")
        if isinstance(message, ToolMessage):
            print(f"← {len(message.artifact or [])} passages, {len(message.text)} characters")
        elif message.text:
            print(message.text)
    for citation in state["citations"]:
        print(f"[{citation['extras']['number']}] {citation['extras']['location']}")


if __name__ == "__main__":
    main()
