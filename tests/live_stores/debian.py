"""Programs and libraries of Debian releases, unpacked into a folder without installing them.

    python tests/live_stores/debian.py

unpacks what the tests need: MariaDB 11.8, as older releases have no vectors, and the OpenSSL that Redis Stack wants.
It prints what it did. Where there is no ``apt-get``, the tests of these stores say so and are skipped.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(os.environ.get("STORES_CACHE") or Path(sys.prefix) / "share" / "stores")

MARIADB = [
    "mariadb-server-core", "libc6", "libgcc-s1", "libstdc++6", "libaio1t64", "libcrypt1", "libnuma1", "libpcre2-8-0",
    "libssl3t64", "libsystemd0", "libcap2", "liburing2", "libzstd1", "zlib1g",
]  # fmt: skip
PARTS = {"mariadb": ("trixie", MARIADB), "openssl": ("bullseye", ["libssl1.1"])}
"""Folders, each with the release and the packages that it is made of."""


def found(part: str) -> Path | None:
    """Return the folder of a part; ``None`` if it isn't there."""
    folder = FOLDER / part
    return folder if folder.exists() else None


def archive() -> str:
    """Return the address from which this machine gets Debian's packages."""
    settings = Path("/etc/apt")
    for file in sorted([*settings.glob("sources.list"), *settings.glob("sources.list.d/*")]):
        for word in file.read_text(encoding="utf-8").split():
            if re.fullmatch(r"\w+://.*/debian/?", word):
                return word
    raise FileNotFoundError("no source of Debian's packages is set in /etc/apt")


def unpack(part: str) -> None:
    """Download the packages of a part and unpack them, whole or not at all."""
    release, packages = PARTS[part]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as made:
        work = Path(made)
        for folder in ("lists/partial", "cache/archives/partial", "debs", "root"):
            (work / folder).mkdir(parents=True)
        sources = work / "sources.list"
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        sources.write_text(f"deb [signed-by={keys}] {archive()} {release} main\n", encoding="utf-8")
        (work / "status").touch()
        places = {
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": work / "none",
            "Dir::State::lists": work / "lists",
            "Dir::State::status": work / "status",
            "Dir::Cache": work / "cache",
        }
        settings = [part for name, place in places.items() for part in ("-o", f"{name}={place}")]
        apt = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", *settings]
        subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*apt, "download", *packages], check=True, stdout=subprocess.DEVNULL, cwd=work / "debs")
        extract = ["dpkg", "-x"]
        for package in sorted((work / "debs").glob("*.deb")):
            subprocess.run([*extract, str(package), str(work / "root")], check=True)
        shutil.rmtree(FOLDER / part, ignore_errors=True)
        (work / "root").rename(FOLDER / part)


def main() -> None:
    """Unpack what isn't there yet."""
    if not shutil.which("apt-get") or platform.machine() != "x86_64":
        print("Without apt-get on x86-64, the tests of MariaDB and Redis are skipped.")
        return
    for part in PARTS:
        if found(part) is None:
            try:
                unpack(part)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{part} can't be had: {error}; its tests are skipped.", file=sys.stderr)
                continue
        print(f"{part} is in {FOLDER / part}")


if __name__ == "__main__":
    main()
