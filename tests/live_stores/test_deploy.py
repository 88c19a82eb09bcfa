"""The reference deployment of examples/deploy as processes of this machine, without docker."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.live_stores.postgres import breakable_postgres

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"
SECONDS = 90
SECRETS = {"POSTGRES_PASSWORD": "0123abc", "MCP_TOKEN": "f00ba7"}
POLICY = "A refund may be asked for within 30 days. It is refused after 100 bookings."
QUERY = {"query": "Until when can I ask for a refund?", "k": 1}


def compose() -> Any:
    """Return compose.yaml as docker reads it with the secrets that README.md asks for."""

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        return SECRETS[name] if default is None or default.startswith("?") else default.removeprefix("-")

    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"\$\{(?P<name>\w+)(?::(?P<default>[-?][^}]*))?\}", value, text))


def command_of(given: list[str]) -> list[str]:
    """Return a command for this machine's Python."""
    assert given[0] == "python"
    return [sys.executable, *given[1:]]


def environment_of(service: Mapping[str, Any], **own: str) -> dict[str, str]:
    assert own.keys() <= service["environment"].keys()
    paths = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "app")]),
        "HF_HUB_OFFLINE": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    kept = {name: value for name, value in os.environ.items() if name not in service["environment"]}
    return {**kept, **paths, **service["environment"], **own}


def answers(service: Mapping[str, Any], port: int) -> bool:
    """Run the health check of the service."""
    kind, *check = service["healthcheck"]["test"]
    assert kind == "CMD"
    here = [part.replace(":8000/", f":{port}/") for part in command_of(check)]
    done = subprocess.run(here, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "HTTPError" in done.stderr or "URLError" in done.stderr
    return done.returncode == 0


@contextmanager
def serving(service: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command_of(service["command"]), cwd=DEPLOY, env=environment, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def search(port: int, token: str) -> Any:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(f"http://localhost:{port}/mcp", http_client=http)) as client,
    ):
        return await client.call_tool("search", QUERY)


async def test_the_deployment_loads_serves_and_outlives_its_database(tmp_path: Path) -> None:
    services, folder = compose()["services"], tmp_path / "documents"
    folder.mkdir()
    (folder / "policy.md").write_text(f"{POLICY}\n\n# Cards\n\nA card has a limit.\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with breakable_postgres() as database:
        load = services["load"]
        at = environment_of(load, DATABASE_URL=database.url)
        command = [str(folder) if part == "/documents" else part for part in command_of(load["command"])]
        broken = folder / "broken.docx"
        broken.write_bytes(b"This is no Word file.")
        done = subprocess.run(command, cwd=DEPLOY, env=at, capture_output=True, text=True, check=False)  # noqa: ASYNC221
        assert done.returncode == 1, done.stderr
        progress, counts, reason = done.stdout.splitlines()[-3:]
        assert progress.startswith("1 of 2 files, ")
        assert progress.endswith(f": {folder / 'policy.md'}")
        assert counts.startswith("1 added, 1 failed; ")
        assert reason.startswith(f"{broken} can't be read as DOCX")
        broken.unlink()
        done = subprocess.run(command, cwd=DEPLOY, env=at, capture_output=True, text=True, check=False)  # noqa: ASYNC221
        assert (done.returncode, done.stdout) == (0, "1 unchanged; 0 sentences\n"), done.stderr

        server = services["server"]
        at = environment_of(server, DATABASE_URL=database.url, PORT=str(port))
        with serving(server, at, tmp_path / "log") as process:
            end = time.monotonic() + SECONDS
            while not answers(server, port):
                assert process.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
                assert time.monotonic() < end
                time.sleep(0.1)  # noqa: ASYNC251
            found = await search(port, SECRETS["MCP_TOKEN"])
            assert found.structured_content["results"][0]["text"] == POLICY

            database.kill()
            start = time.monotonic()
            failed = await search(port, SECRETS["MCP_TOKEN"])
            assert time.monotonic() - start < 25  # the limit of serve.py is 20 seconds
            assert failed.is_error
            assert failed.content[0].text.startswith("search got no answer from the documents in time.")
            assert not answers(server, port)

            database.start()
            time.sleep(1)  # noqa: ASYNC251 - so long an answer of /health counts
            assert answers(server, port)
            assert await search(port, SECRETS["MCP_TOKEN"]) == found

            process.send_signal(signal.SIGTERM)
            process.wait(10)
        log = (tmp_path / "log").read_text(encoding="utf-8")
        assert "the store doesn't answer: StoreUnavailableError" in log
        assert not any(secret in log for secret in SECRETS.values())
