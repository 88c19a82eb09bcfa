"""A chat model for tests that start a server of their own."""

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.openai_server import OpenAIServer


@pytest.fixture
def llm(server: OpenAIServer) -> ChatOpenAI:
    """Return a model that asks the server of the test's module."""
    return ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
