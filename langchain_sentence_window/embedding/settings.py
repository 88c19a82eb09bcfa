"""Names of an embedder's settings: which change its vectors, which don't, and which may hold secrets.

Names are compared by their parts: ``model_api_key`` has the parts ``model``, ``api`` and ``key``. One part is enough to
make a name secret. The few settings whose values are shown are listed by their whole names.
"""

import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

SHOWN = frozenset(
    {
        "azure_deployment", "deployment", "deployment_name", "dim", "dimension", "dimensions", "dims", "model",
        "model_id", "model_name", "output_dimension", "output_dimensionality", "output_dimensions", "repo_id",
        "revision", "seed", "size", "truncate_dim",
    }
)  # fmt: skip
"""Settings whose values a description shows; of the others it holds a digest."""

_OPERATIONAL = frozenset(
    {
        "allow_download", "chunk_size", "convert_to_numpy", "convert_to_tensor", "keep_alive", "lazy_load",
        "local_files_only", "metadata", "multi_process", "openai_organization", "organization", "project", "region",
        "region_name", "requests_per_second", "tags", "user", "user_agent",
    }
)  # fmt: skip
_OPERATIONAL_PARTS = frozenset(
    {
        "batch", "cache", "cached", "callback", "callbacks", "calls", "client", "concurrency", "counter", "device",
        "devices", "elapsed", "gpu", "gpus", "http", "latency", "limiter", "logger", "logging", "logs", "parallel",
        "parallelism", "progress", "proxies", "proxy", "retries", "retry", "seconds", "store", "thread", "threads",
        "timeout", "timeouts", "usage", "verbose", "worker", "workers",
    }
)  # fmt: skip

_NUMERIC_PARTS = frozenset(
    {
        "bits", "buckets", "context", "ctx", "depth", "dim", "dimension", "dimensionality", "dimensions", "dims",
        "features", "heads", "hidden", "layer", "layers", "length", "ngram", "ngrams", "order", "pool", "pooling",
        "rank", "revision", "seed", "size", "stride", "truncate", "truncation", "version", "width", "window",
    }
)  # fmt: skip

_SECRET = re.compile(
    "key|token|secret|passw|passphrase|pwd|credential|auth|cookie|header|signature|bearer|jwt|session|private"
)
_SECRET_PARTS = frozenset({"cert", "cred", "creds", "otp", "pass", "pat", "pem", "pin", "sas", "sid", "sig"})
_NO_SECRET = re.compile(r"tiktoken|(de)?tokeni[sz]\w*|keyword|keyphrase|keypoint|author(?!i[sz])")
_COUNTING_PARTS = frozenset(
    {"add", "count", "dim", "heads", "length", "limit", "max", "min", "num", "per", "size", "special"}
)

_MAX_CACHED_NAMES = 500
_REMOVED = "..."
_USER_OF_URL = re.compile(r"(?<=://)(?:[^/?#\s]*@|[^/\s:@]+:(?!\d+(?:[/?#\s]|$))\S*@)")
_PEM = re.compile(r"-----BEGIN [\s\S]*?(?:-----END [^-\n]*-----|\Z)")
_AUTHORIZATION = re.compile(r"(?i)(authorization[\"']?\s*[:=]).*")
_BEARER = re.compile(r"(?i)\b(bearer\s+)\S+")
_IN_QUERY = re.compile(r"(?i)([?&#](?:code|k|s)=)[^\s&#]+")
_NAME = re.compile(r"(?<![\w.%-])([\w.%-]+)[\"']?\s*[:=]\s*[\"']?")
_MARKED = re.compile(r"\0[^\s\"'&;,}]*")
_KNOWN_FORMS = re.compile(
    r"\b(?:(?:sk|pk|rk|pa|nvapi)-(?=[\w-]*\d)[\w-]{20,}|(?:hf|jina|gsk|r8|pplx-|xai-)_?[A-Za-z0-9]{24,}|gh[a-z]_\w{20,}"
    r"|github_pat_\w+|xox[a-z]-[\w-]+|A[KS]IA[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]+|eyJ[\w-]{8,}\.[\w.-]+)"
)


def is_secret(name: str, value: object = None) -> bool:
    """Return whether a setting may hold a secret, such as ``api_key``; a number such as ``max_tokens`` doesn't."""
    counts = isinstance(value, int | float) and not _COUNTING_PARTS.isdisjoint(_parts(name))
    return not counts and _sounds_secret(name)


@lru_cache(_MAX_CACHED_NAMES)
def _sounds_secret(name: str) -> bool:
    return any(part in _SECRET_PARTS or _SECRET.search(_NO_SECRET.sub("", part)) for part in _parts(name))


def is_operational(name: str) -> bool:
    """Return whether a setting of this name can't change a vector, such as ``batch_size``."""
    parts = _parts(name)
    return "_".join(parts) in _OPERATIONAL or not _OPERATIONAL_PARTS.isdisjoint(parts)


def is_numeric_setting(name: str) -> bool:
    """Return whether a whole number of this name is a setting, such as ``dim``, and not a counter."""
    return not _NUMERIC_PARTS.isdisjoint(_parts(name))


def without_secrets(text: str) -> str:
    """Remove possible secrets from a text: users in URLs, values after names such as ``api_key=``, known keys."""
    text = _PEM.sub(_REMOVED, _USER_OF_URL.sub("", text))
    text = _BEARER.sub(rf"\1{_REMOVED}", _AUTHORIZATION.sub(rf"\1{_REMOVED}", text))
    text = _IN_QUERY.sub(rf"\1{_REMOVED}", text)
    return _KNOWN_FORMS.sub(_REMOVED, _MARKED.sub(_REMOVED, _NAME.sub(_marked, text)))


def _marked(name: re.Match[str]) -> str:
    return name[0] + ("\0" if is_secret(unquote(name[1])) else "")


@lru_cache(_MAX_CACHED_NAMES)
def _parts(name: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", name).casefold()
    return tuple(part for part in re.split(r"[\W_]+", plain) if part)
