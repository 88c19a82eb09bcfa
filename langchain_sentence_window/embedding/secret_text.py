"""Texts without secrets, for messages and for files that others read."""

import re
from urllib.parse import unquote

_REMOVED = "..."
_USER_OF_URL = re.compile(r"(?<=://)(?:[^/?#\s]*@|[^/\s:@]+:(?!\d+(?:[/?#\s]|$))\S*@)")
_PEM = re.compile(r"-----BEGIN [\s\S]*?(?:-----END [^-\n]*-----|\Z)")
_HEADER = re.compile(r"(?i)(authorization[\"']?\s*[:=]).*|\b(bearer\s+)\S+")
_IN_QUERY = re.compile(r"(?i)([?&#](?:code|k|s)=)[^\s&#]+")
_KNOWN_FORMS = re.compile(
    r"\b(?:(?:sk|pk|rk|pa|nvapi)-(?=[\w-]*\d)[\w-]{20,}|(?:hf|jina|gsk|r8|pplx-|xai-)_?[A-Za-z0-9]{24,}|gh[a-z]_\w{20,}"
    r"|github_pat_\w+|xox[a-z]-[\w-]+|A[KS]IA[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]+|eyJ[\w-]{8,}\.[\w.-]+)"
)
_NAME = re.compile(r"(?<![\w.%-])([\w.%-]+)[\"']?\s*[:=]\s*[\"']?")
_MARKED_VALUE = re.compile(r"\0[^\s\"'&;,}]*")
_SECRET_NAME = re.compile(
    r"(?i)key|token|secret|passw|passphrase|pwd|credential|auth|cookie|header|signature|bearer|jwt|session|private"
    r"|(?<![^\W_])(?:cert|creds?|otp|pass|pat|pem|pin|sas|sid|sig)(?![^\W_])"
)
_OTHER_NAME = re.compile(r"(?i)tiktoken|(de)?tokeni[sz]\w*|keyword|keyphrase|keypoint|author(?!i[sz])")


def without_secrets(text: str) -> str:
    """Remove possible secrets from a text: users in URLs, values after names such as ``api_key=``, known keys."""
    text = _PEM.sub(_REMOVED, _USER_OF_URL.sub("", text))
    text = _HEADER.sub(lambda header: f"{header[1] or header[2]}{_REMOVED}", text)
    text = _IN_QUERY.sub(rf"\1{_REMOVED}", text)
    # Values are marked first and removed then, as a value may contain other names: ``url=…?key=…``.
    text = _MARKED_VALUE.sub(_REMOVED, _NAME.sub(_mark, text))
    return _KNOWN_FORMS.sub(_REMOVED, text)


def _mark(name: re.Match[str]) -> str:
    is_secret = _SECRET_NAME.search(_OTHER_NAME.sub("", unquote(name[1])))
    return f"{name[0]}\0" if is_secret else name[0]
