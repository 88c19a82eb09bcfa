"""These tests need other vector stores: ``make test-stores`` installs them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("langchain_milvus") else ["test_*.py"]
