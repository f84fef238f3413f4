"""The active end of a test."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from tcpwhy._core import InputError
from tcpwhy.active.protocol import Control, ProtocolError, State, cookie, stream_id
from tcpwhy.active.session import (
    Parameters,
    Watch,
    close_all,
    keep_alive,
    results_json,
    samples_of,
)
from tcpwhy.active.stream import Stream

CONNECT_TIMEOUT_S = 10.0
PATIENCE_S = 15.0
"""For the server's results: it may have much to read first."""

Sample = dict[str, Any]


@dataclass
class Outcome:
    """What a test came to."""

    parameters: Parameters
    seconds: float
    streams: list[Stream]
    samples: dict[int, list[Sample]]
    peer: dict[str, Any]
    """What the server says, in iperf3's words."""
    peer_samples: dict[int, list[Sample]] = field(default_factory=dict)
    """What the server's kernel says, on the clock of this end; none when it is iperf3."""
    failure: str | None = None
    """What ended the test before its end; there is what was found until then."""


def run_test(
    host: str,
    port: int,
    parameters: Parameters,
    *,
    family: socket.AddressFamily = socket.AF_UNSPEC,
    tick: Callable[[Watch], None] = lambda watch: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run a test; `tick` is called about ten times a second while it runs."""
    with ExitStack() as stack:
        key = cookie()
        control = Control(stack.enter_context(_connect(host, port, family, None)))
        keep_alive(control.socket)
        control.socket.settimeout(PATIENCE_S)
        control.socket.sendall(key)
        control.expect(State.PARAM_EXCHANGE)
        control.send_text(parameters.to_json())
        control.expect(State.CREATE_STREAMS)
        streams: list[Stream] = []
        for sends in parameters.directions:
            for _ in range(parameters.parallel):
                peer = control.socket.getpeername()[0]
                connection = stack.enter_context(_connect(peer, port, family, parameters))
                connection.sendall(key)
                streams.append(Stream(connection, stream_id(len(streams)), sends=sends))
        stack.callback(close_all, streams)
        control.expect(State.TEST_START)
        control.expect(State.TEST_RUNNING)
        return _run(control, parameters, streams, tick, stopped)


def _run(
    control: Control,
    parameters: Parameters,
    streams: list[Stream],
    tick: Callable[[Watch], None],
    stopped: Callable[[], bool],
) -> Outcome:
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
    while not (_is_over(parameters, watch) or stopped()):
        time.sleep(0.05)
        tick(watch)
    watch.stop()
    seconds = watch.now()
    outcome = Outcome(parameters, seconds, streams, watch.samples, {"streams": []})
    results = results_json(watch, parameters, with_samples=True)
    try:
        outcome.peer = _exchange(control, streams, results)
    except (ProtocolError, OSError) as error:
        outcome.failure = f"the test ended after {seconds:.1f} s: {error}"
    outcome.peer_samples = dict(_on_our_clock(samples_of(outcome.peer), watch.samples))
    return outcome


def _exchange(control: Control, streams: list[Stream], results: dict[str, Any]) -> dict[str, Any]:
    """Give the server our results for its own."""
    control.send_state(State.TEST_END)
    # A reader goes on until the server has stopped; a writer must not fill its queue any more.
    for stream in streams:
        stream.halt()
    control.expect(State.EXCHANGE_RESULTS)
    control.send_text(results)
    peer: dict[str, Any] = control.text()
    control.expect(State.DISPLAY_RESULTS)
    control.send_state(State.IPERF_DONE)
    return peer


def _on_our_clock(
    theirs: dict[int, list[Sample]], ours: dict[int, list[Sample]]
) -> Iterator[tuple[int, list[Sample]]]:
    """Shift the server's times: its test began half a round trip before we heard of it."""
    for number, samples in theirs.items():
        own = ours.get(number) or []
        trip_us = min((s["min_rtt"] for s in own if s["min_rtt"]), default=0)
        shift_s = trip_us / 2e6
        yield number, [{**one, "at_s": one["at_s"] - shift_s} for one in samples]


def _is_over(parameters: Parameters, watch: Watch) -> bool:
    if parameters.bytes:
        if all(_has_moved(parameters, watch, stream) for stream in watch.streams):
            return True
    elif watch.now() >= (parameters.seconds or 0) + parameters.omit_s:
        return True
    return all(stream.is_over() for stream in watch.streams)


def _has_moved(parameters: Parameters, watch: Watch, stream: Stream) -> bool:
    """Say whether all bytes of a stream are there: acknowledged, not just written."""
    index = watch.streams.index(stream)
    if stream.bytes < (parameters.bytes_of(index) or 0):
        return False
    last = watch.samples[stream.number][-1]
    return not stream.sends or (not last["unacked"] and not last["notsent_bytes"])


def _connect(
    host: str, port: int, family: socket.AddressFamily, parameters: Parameters | None
) -> socket.socket:
    """Open a connection, to the first of the host's addresses that answers."""
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    except socket.gaierror as error:
        hint = "check the name"
        if family != socket.AF_UNSPEC:
            hint += f", or leave {'-6' if family == socket.AF_INET6 else '-4'} out"
        raise InputError(f"{host}: {error.strerror}; {hint}") from error
    problem: OSError | None = None
    for kind, _, _, _, address in found:
        connection = socket.socket(kind)
        try:
            if parameters:
                parameters.options.apply(connection)
            connection.settimeout(CONNECT_TIMEOUT_S)
            connection.connect(address)
        except OSError as error:
            connection.close()
            problem = error
        else:
            return connection
    hint = "start `tcpwhy measure --server` or `iperf3 -s` there"
    reason = problem.strerror if problem and problem.strerror else problem
    raise InputError(f"{host}:{port}: {reason}; {hint}") from problem
