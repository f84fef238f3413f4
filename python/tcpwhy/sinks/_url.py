"""URLs of outputs: where a service is, what is asked of it, and where secrets are not."""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tcpwhy._core import UsageError
from tcpwhy.units import quantity

BUFFER_OPTIONS = ("memory", "spill", "spill_size")
"""What every service is told that buffers: bytes in memory, a folder, and bytes there."""


class Url(NamedTuple):
    """A URL, checked."""

    text: str
    """Without its options: what messages and the names of spill files say."""
    scheme: str
    host: str
    port: int
    path: str
    options: Mapping[str, str]

    def size(self, name: str, default: int) -> int:
        """Give an option that is a number of bytes."""
        try:
            return int(quantity(self.options[name], "bytes")) if name in self.options else default
        except UsageError as error:
            raise UsageError(f"{self.text}: {name}: {error}") from error


def url_of(target: str, *, port: int, options: tuple[str, ...], buffers: bool = True) -> Url:
    """Take a URL apart; `port` is the usual one, `options` are those that may come after `?`."""
    split = urlsplit(target)
    text = target.partition("?")[0]
    if split.password or split.username:
        raise UsageError(
            f"{split.scheme}://{split.hostname}: no credentials in the URL, which other users of"
            " this machine can see: set them in the environment or a file (docs/outputs.md)"
        )
    known = (*options, *(BUFFER_OPTIONS if buffers else ()))
    given = dict(parse_qsl(split.query, keep_blank_values=True))
    for name in given:
        if name not in known:
            raise UsageError(f"{text}: no option {name!r}: there are {', '.join(known)}")
    try:
        found = split.port or port
    except ValueError as error:
        raise UsageError(f"{text}: the port is no number from 1 to 65535") from error
    if not split.hostname:
        raise UsageError(f"{text}: names no host: {split.scheme}://HOST[:PORT]/…")
    return Url(text, split.scheme, split.hostname, found, split.path.strip("/"), given)


def secret(url: Url, kind: str) -> str | None:
    """Find credentials: in the file that `credentials` names, or else in the environment.

    The variable is TCPWHY_<KIND>_CREDENTIALS. Either is `USER:PASSWORD`, or `ApiKey KEY`.
    """
    if path := url.options.get("credentials"):
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        if not re.fullmatch(r"(ApiKey|Bearer) \S+|[^:\s]+:.+", text):
            raise UsageError(f"{path}: neither USER:PASSWORD nor 'ApiKey KEY' nor 'Bearer TOKEN'")
        return text
    return os.environ.get(f"TCPWHY_{kind}_CREDENTIALS")


def state_folder() -> Path:
    """Give where what a user's programs want to find again is kept."""
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base, "tcpwhy")
    try:
        return Path.home() / ".local" / "state" / "tcpwhy"
    except RuntimeError:
        # A container's user without a name has no home.
        return Path(tempfile.gettempdir(), f"tcpwhy-{os.getuid()}")
