"""The passive end of a test, for clients of iperf3 and for our own."""

import socket
import threading
import time
from collections.abc import Callable

from tcpwhy._core import InputError
from tcpwhy.active.protocol import (
    COOKIE_BYTES,
    Control,
    ProtocolError,
    State,
    receive_exactly,
    stream_id,
)
from tcpwhy.active.session import Parameters, Watch, close_all, keep_alive, results_json
from tcpwhy.active.stream import Options, Stream

STREAMS_MAX = 128
"""What iperf3 allows as well."""
PATIENCE_S = 10.0
"""For the other end to take the next step."""

Told = Callable[[str], None]


class Server:
    """Listens on a port and serves one test at a time; others are told that it is busy."""

    def __init__(self, address: str | None, port: int, told: Told) -> None:
        self._where = (address, port)
        self._told = told
        try:
            self._listener = _listen(self._where, Options())
        except OSError as error:
            where = f"{address} port {port}" if address else f"port {port}"
            hint = "another with --port, or `ss -ltnp` to see who has it"
            raise InputError(f"{where}: {error.strerror}; {hint}") from error
        self.port: int = self._listener.getsockname()[1]
        self._where = (address, self.port)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def serve(self) -> None:
        """Serve one test to its end."""
        self._listener.settimeout(None)
        connection, peer = self._listener.accept()
        with connection:
            keep_alive(connection)
            # Clients over IPv4 come with mapped addresses where one socket has both families.
            name = peer[0].removeprefix("::ffff:")
            end = f"[{name}]:{peer[1]}" if ":" in name else f"{name}:{peer[1]}"
            self._told(f"test from {end}")
            try:
                self._test(Control(connection))
            except (ProtocolError, OSError) as error:
                self._told(f"test from {end} ended: {error}")

    def _test(self, control: Control) -> None:
        control.socket.settimeout(PATIENCE_S)
        cookie = receive_exactly(control.socket, COOKIE_BYTES)
        control.send_state(State.PARAM_EXCHANGE)
        asked = control.text()
        parameters = Parameters.from_json(asked)
        if not 1 <= parameters.parallel <= STREAMS_MAX:
            raise ProtocolError(f"{parameters.parallel} streams: 1 to {STREAMS_MAX} are possible")
        streams: list[Stream] = []
        try:
            # What must hold from the SYN on is set on the listening socket.
            try:
                try:
                    self._listen_with(parameters.options)
                except OSError as error:
                    control.give_up(error.errno or 0)
                    raise
                control.send_state(State.CREATE_STREAMS)
                streams = self._accept(cookie, parameters)
            finally:
                # Before the test, so that who comes at its end finds the socket that stays.
                self._listen_with(Options())
            control.send_state(State.TEST_START)
            control.send_state(State.TEST_RUNNING)
            self._run(control, parameters, streams, with_samples="tcpwhy" in asked)
        finally:
            close_all(streams)
            for stream in streams:
                stream.close()

    def _listen_with(self, options: Options) -> None:
        self._listener.close()
        self._listener = _listen(self._where, options)

    def _accept(self, cookie: bytes, parameters: Parameters) -> list[Stream]:
        """Accept the streams: those on which the client sends come first."""
        streams: list[Stream] = []
        wanted = [not sends for sends in parameters.directions for _ in range(parameters.parallel)]
        deadline = time.monotonic() + PATIENCE_S
        while len(streams) < len(wanted):
            self._listener.settimeout(max(0.1, deadline - time.monotonic()))
            connection, _ = self._listener.accept()
            connection.settimeout(PATIENCE_S)
            if receive_exactly(connection, COOKIE_BYTES) != cookie:
                Control(connection).send_state(State.ACCESS_DENIED)
                connection.close()
                continue
            sends = wanted[len(streams)]
            streams.append(Stream(connection, stream_id(len(streams)), sends=sends))
        return streams

    def _run(
        self, control: Control, parameters: Parameters, streams: list[Stream], *, with_samples: bool
    ) -> None:
        watch = Watch(streams)
        for index, stream in enumerate(streams):
            stream.shares_path = parameters.parallel > 1
            stream.sndbuf_is_fixed = bool(parameters.options.sndbuf_bytes)
            stream.start(
                bitrate_bps=parameters.bitrate_bps,
                block_bytes=parameters.block_bytes,
                read_bps=parameters.read_bps,
                limit_bytes=parameters.bytes_of(index),
            )
        refusing = threading.Event()
        refuser = threading.Thread(target=self._refuse, args=(refusing,), daemon=True)
        refuser.start()
        try:
            control.socket.settimeout(None)
            control.expect(State.TEST_END)
        finally:
            refusing.set()
            refuser.join()
            watch.stop()
        control.socket.settimeout(PATIENCE_S)
        results = results_json(watch, parameters, with_samples=with_samples)
        close_all(streams)
        control.send_state(State.EXCHANGE_RESULTS)
        control.text()
        control.send_text(results)
        control.send_state(State.DISPLAY_RESULTS)
        control.expect(State.IPERF_DONE)
        moved = sum(stream.bytes for stream in streams)
        count = "1 stream" if len(streams) == 1 else f"{len(streams)} streams"
        self._told(f"{moved:,} bytes over {count} in {watch.now():.1f} s")

    def _refuse(self, stopped: threading.Event) -> None:
        """Tell others that a test is running."""
        self._listener.settimeout(0.2)
        while not stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with connection:
                Control(connection).send_state(State.ACCESS_DENIED)


def _listen(where: tuple[str | None, int], options: Options) -> socket.socket:
    """Listen, on both families where no address is given."""
    address, port = where
    family = socket.AF_INET if address and ":" not in address else socket.AF_INET6
    if address is None and not socket.has_dualstack_ipv6():
        family = socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6 and address is None:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    options.apply(listener)
    listener.bind((address or ("::" if family == socket.AF_INET6 else ""), port))
    listener.listen(STREAMS_MAX)
    return listener
