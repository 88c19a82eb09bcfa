"""Texts without secrets, for messages and files that others read.

Names of settings are compared by their parts: ``model_api_key`` has the parts ``model``, ``api`` and ``key``. One part
is enough to make a name secret.
"""

import re
import unicodedata
from urllib.parse import unquote

_SECRET = re.compile(
    "key|token|secret|passw|passphrase|pwd|credential|auth|cookie|header|signature|bearer|jwt|session|private"
)
_SECRET_PARTS = frozenset({"cert", "cred", "creds", "otp", "pass", "pat", "pem", "pin", "sas", "sid", "sig"})
_NO_SECRET = re.compile(r"tiktoken|(de)?tokeni[sz]\w*|keyword|keyphrase|keypoint|author(?!i[sz])")

_REMOVED = "..."
_USER_OF_URL = re.compile(r"(?<=://)(?:[^/?#\s]*@|[^/\s:@]+:(?!\d+(?:[/?#\s]|$))\S*@)")
_PEM = re.compile(r"-----BEGIN [\s\S]*?(?:-----END [^-\n]*-----|\Z)")
_AUTHORIZATION = re.compile(r"(?i)(authorization[\"']?\s*[:=]).*")
_BEARER = re.compile(r"(?i)\b(bearer\s+)\S+")
_IN_QUERY = re.compile(r"(?i)([?&#](?:code|k|s)=)[^\s&#]+")
_NAME = re.compile(r"(?<![\w.%-])([\w.%-]+)[\"']?\s*[:=]\s*[\"']?")
_MARKED = re.compile(r"\0[^\s\"'&;,}]*")
"""Values of secret names, which are marked first and removed then, as a value may hold other names: ``url=…?key=…``."""
_KNOWN_FORMS = re.compile(
    r"\b(?:(?:sk|pk|rk|pa|nvapi)-(?=[\w-]*\d)[\w-]{20,}|(?:hf|jina|gsk|r8|pplx-|xai-)_?[A-Za-z0-9]{24,}|gh[a-z]_\w{20,}"
    r"|github_pat_\w+|xox[a-z]-[\w-]+|A[KS]IA[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]+|eyJ[\w-]{8,}\.[\w.-]+)"
)


def without_secrets(text: str) -> str:
    """Remove possible secrets from a text: users in URLs, values after names such as ``api_key=``, known keys."""
    text = _PEM.sub(_REMOVED, _USER_OF_URL.sub("", text))
    text = _BEARER.sub(rf"\1{_REMOVED}", _AUTHORIZATION.sub(rf"\1{_REMOVED}", text))
    text = _IN_QUERY.sub(rf"\1{_REMOVED}", text)
    return _KNOWN_FORMS.sub(_REMOVED, _MARKED.sub(_REMOVED, _NAME.sub(_marked, text)))


def is_secret(name: str) -> bool:
    """Return whether a setting of this name may hold a secret, such as ``api_key``."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    parts = re.split(r"[\W_]+", plain)
    return any(part in _SECRET_PARTS or _SECRET.search(_NO_SECRET.sub("", part)) for part in parts)


def _marked(name: re.Match[str]) -> str:
    return name[0] + ("\0" if is_secret(unquote(name[1])) else "")
