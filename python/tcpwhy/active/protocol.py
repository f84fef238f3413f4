"""iperf3's control protocol, as its own releases speak it (3.1 and later).

One TCP connection carries it: a cookie, then one byte for each state, then texts in JSON with their
length in front. The data connections go to the same port and begin with the same cookie.
"""

import contextlib
import json
import os
import secrets
import socket
import struct
from enum import IntEnum
from typing import Any

from tcpwhy._core import InputError

PORT = 5201
COOKIE_BYTES = 37
_COOKIE_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_TEXT_BYTES_MAX = 16 << 20
"""More than any results; a length beyond is no iperf3."""
_SETTING_FAILED = 134
"""`IESETCONGESTION` of iperf3's iperf_api.h: the option that fails without privilege."""


class State(IntEnum):
    """What the byte says."""

    TEST_START = 1
    TEST_RUNNING = 2
    TEST_END = 4
    PARAM_EXCHANGE = 9
    CREATE_STREAMS = 10
    SERVER_TERMINATE = 11
    CLIENT_TERMINATE = 12
    EXCHANGE_RESULTS = 13
    DISPLAY_RESULTS = 14
    IPERF_START = 15
    IPERF_DONE = 16
    ACCESS_DENIED = -1
    SERVER_ERROR = -2


class ProtocolError(InputError):
    """The other end does not speak the protocol, or ended the test; the text says which."""


class Control:
    """The control connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send_state(self, state: State) -> None:
        """Send a state."""
        self.socket.sendall(struct.pack("b", state))

    def state(self) -> State:
        """Await the next state; an error when the other end refuses or ends the test."""
        (number,) = struct.unpack("b", receive_exactly(self.socket, 1))
        try:
            state = State(number)
        except ValueError as error:
            raise ProtocolError(f"state {number} is none of iperf3's: what is there?") from error
        if state is State.ACCESS_DENIED:
            raise ProtocolError("the server is busy with another test: try again later")
        if state is State.SERVER_ERROR:
            ours, system = struct.unpack("!II", receive_exactly(self.socket, 8))
            why = f"{os.strerror(system)}, " if system else ""
            if ours == _SETTING_FAILED:
                text = "the server cannot set what was asked for (--cc, --mss or a buffer)"
                raise ProtocolError(f"{text}: {why}error {ours} of iperf3")
            raise ProtocolError(f"the server gave up: {why}error {ours} of iperf3")
        if state is State.SERVER_TERMINATE:
            raise ProtocolError("the server was ended")
        return state

    def give_up(self, number: int) -> None:
        """Say that this server cannot serve the test, with the number of the system's error."""
        with contextlib.suppress(OSError):
            self.send_state(State.SERVER_ERROR)
            self.socket.sendall(struct.pack("!II", _SETTING_FAILED, number))

    def expect(self, *wanted: State) -> State:
        """Await one of these states."""
        state = self.state()
        if state not in wanted:
            names = " or ".join(one.name for one in wanted)
            raise ProtocolError(f"the other end sent {state.name}, expected {names}")
        return state

    def send_text(self, value: Any) -> None:
        """Send a value as JSON."""
        text = json.dumps(value).encode()
        self.socket.sendall(struct.pack("!I", len(text)) + text)

    def text(self) -> Any:
        """Await a value as JSON."""
        (length,) = struct.unpack("!I", receive_exactly(self.socket, 4))
        if length > _TEXT_BYTES_MAX:
            raise ProtocolError(f"a text of {length} bytes: the other end is no iperf3")
        try:
            return json.loads(receive_exactly(self.socket, length))
        except ValueError as error:
            raise ProtocolError(f"the other end sent no JSON: {error}") from error


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Receive so many bytes."""
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ProtocolError("the other end closed the control connection")
        received += part
    return received


def cookie() -> bytes:
    """Make a cookie."""
    letters = "".join(secrets.choice(_COOKIE_LETTERS) for _ in range(COOKIE_BYTES - 1))
    return letters.encode() + b"\0"


def stream_id(index: int) -> int:
    """Number a stream as iperf3 does: 1, 3, 4, 5 and so on."""
    return 1 if index == 0 else index + 2
