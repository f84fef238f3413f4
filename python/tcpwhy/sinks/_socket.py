"""Rows over a socket, which says nothing of what has arrived."""

import socket

from tcpwhy.sinks._buffered import UnavailableError
from tcpwhy.sinks._url import Url

TIMEOUT_S = 8.0


class Stream:
    """A connection that is made again when it broke."""

    def __init__(self, url: Url, *, datagrams: bool = False) -> None:
        """Prepare a connection to the host of a URL, or to the socket that its path names."""
        self._url, self._datagrams = url, datagrams
        self._socket: socket.socket | None = None

    def connect(self) -> None:
        """Connect."""
        self.close()
        kind = socket.SOCK_DGRAM if self._datagrams else socket.SOCK_STREAM
        try:
            if self._url.scheme == "unix":
                self._socket = socket.socket(socket.AF_UNIX, kind)
                self._socket.settimeout(TIMEOUT_S)
                self._socket.connect(f"/{self._url.path}")
            elif self._datagrams:
                found = socket.getaddrinfo(self._url.host, self._url.port, type=kind)
                family, _, _, _, address = found[0]
                self._socket = socket.socket(family, kind)
                self._socket.connect(address)
            else:
                address = (self._url.host, self._url.port)
                self._socket = socket.create_connection(address, TIMEOUT_S)
        except OSError as error:
            raise UnavailableError(_reason(error)) from error

    def send(self, data: bytes) -> None:
        """Send everything; what the reader had not taken when it left is lost."""
        if self._socket is None:
            self.connect()
        assert self._socket is not None
        try:
            if not self._datagrams and self._has_ended(self._socket):
                raise ConnectionResetError("the reader has left")
            self._socket.sendall(data)
        except ConnectionRefusedError:
            # Of a datagram before this one: nobody listens, and none will be told again.
            if not self._datagrams:
                raise
        except OSError as error:
            self.close()
            raise UnavailableError(_reason(error)) from error

    def close(self) -> None:
        """Close it."""
        if self._socket:
            self._socket.close()
        self._socket = None

    def _has_ended(self, connection: socket.socket) -> bool:
        """Say whether the reader has closed its end: it says nothing else."""
        connection.setblocking(False)
        try:
            return not connection.recv(1)
        except BlockingIOError:
            return False
        finally:
            connection.settimeout(TIMEOUT_S)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
