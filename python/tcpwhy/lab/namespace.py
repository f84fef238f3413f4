"""A network namespace: a process of its own, driven by calls over a socket.

Nothing of it has a name outside: namespace, interface, addresses and settings belong to the
process and go when it goes. It goes on request, when the other end of the socket closes, and when
the kernel sees its parent die, however that came about.
"""

import contextlib
import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from tcpwhy._core import PrivilegeError, TcpwhyError

START_TIMEOUT_S = 30.0
CALL_TIMEOUT_S = 60.0


class NamespaceError(TcpwhyError):
    """Something in a namespace failed; the text says what."""


class Namespace:
    """The near end of a namespace; use it in a `with` statement."""

    def __init__(self, name: str, *, rootless: bool = False) -> None:
        self.name = name
        near, far = socket.socketpair()
        with far:
            command = [sys.executable, "-m", "tcpwhy.lab.inside", str(far.fileno()), name]
            try:
                self._process = subprocess.Popen(
                    [*command, "rootless"] if rootless else command,
                    pass_fds=[far.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                near.close()
                raise NamespaceError(f"{command[0]} cannot be started: {error}") from error
        self._socket = near
        self._calls = Connection(os.dup(near.fileno()))
        try:
            self._answer(START_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def call(self, function: str, /, **arguments: Any) -> Any:
        """Have a function of `tcpwhy.lab.inside.Inside` called in the namespace."""
        try:
            self._calls.send((function, arguments))
        except OSError as error:
            raise NamespaceError(f"{self.name}: the namespace is gone: {error}") from error
        return self._answer(CALL_TIMEOUT_S)

    def open_tap(self, name: str, *, offload: bool = False) -> int:
        """Create a TAP interface there; the descriptor that carries its frames."""
        self.call("create_tap", name=name, offload=offload)
        _, fds, _, _ = socket.recv_fds(self._socket, 1, 1)
        return fds[0]

    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process and what it started."""
        self._calls.close()
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def _answer(self, timeout_s: float) -> Any:
        try:
            if not self._calls.poll(timeout_s):
                raise NamespaceError(f"{self.name}: no answer within {timeout_s:.0f} s")
            good, value = self._calls.recv()
        except (EOFError, OSError) as error:
            raise NamespaceError(f"{self.name}: the namespace ended unexpectedly") from error
        if good:
            return value
        kind, text = value
        if kind == "PermissionError":
            raise PrivilegeError(
                f"{text}: run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN; "
                "`tcpwhy doctor` says what is missing"
            )
        raise NamespaceError(f"{self.name}: {text}")

    def __enter__(self) -> "Namespace":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
