"""What any LangChain vector store can do, answered in one place."""
