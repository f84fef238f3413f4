"""What both ends of a test share: its parameters, its streams, the clock that looks at them."""

import base64
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tcpwhy import _core
from tcpwhy.active import trains
from tcpwhy.active.limit import NO_RATE
from tcpwhy.active.stream import BLOCK_BYTES, Options, Stream

SAMPLE_S = 0.1
"""How often the kernel is asked about every stream; rows are of whole seconds."""

INTERVAL_MIN_S = 2 * SAMPLE_S


@dataclass(frozen=True)
class Parameters:
    """A test, as the client asks for it."""

    seconds: float | None = 10.0
    bytes: int | None = None
    omit_s: float = 0.0
    parallel: int = 1
    reverse: bool = False
    bidir: bool = False
    bitrate_bps: float | None = None
    block_bytes: int = BLOCK_BYTES
    read_bps: float | None = None
    """How fast the receiver reads; None is as fast as it can."""
    interval_s: float = 1.0
    """Of a row."""
    options: Options = field(default_factory=Options)

    @property
    def directions(self) -> tuple[bool, ...]:
        """Whether the client sends, for each group of streams in the order of their opening."""
        if self.bidir:
            return (True, False)
        return (not self.reverse,)

    def bytes_of(self, index: int) -> int | None:
        """Give the share of a stream in the bytes of the test; None without a limit."""
        if self.bytes is None:
            return None
        number = index % self.parallel
        return self.bytes * (number + 1) // self.parallel - self.bytes * number // self.parallel

    def to_json(self) -> dict[str, Any]:
        """Give the parameters in iperf3's words, and in ours what it has none for."""
        options = self.options
        text: dict[str, Any] = {
            "tcp": True,
            "omit": round(self.omit_s),
            "time": 0 if self.bytes else round(self.seconds or 0),
            "num": self.bytes or 0,
            "blockcount": 0,
            "parallel": self.parallel,
            "len": self.block_bytes,
            "bandwidth": round(self.bitrate_bps or 0),
            "fqrate": options.pace_bps or 0,
            "pacing_timer": 1000,
            "client_version": "3.12",
            "tcpwhy": {
                "version": _core.__version__,
                "options": asdict(options),
                "read_bps": self.read_bps,
                "seconds": self.seconds,
            },
        }
        if self.reverse:
            text["reverse"] = True
        if self.bidir:
            text["bidirectional"] = True
        if options.sndbuf_bytes or options.rcvbuf_bytes:
            # iperf3 has one number for both buffers of both ends.
            text["window"] = options.rcvbuf_bytes or options.sndbuf_bytes
        for key, value in (("congestion", options.controller), ("MSS", options.mss)):
            if value:
                text[key] = value
        if options.nodelay:
            text["nodelay"] = True
        return text

    @staticmethod
    def from_json(text: dict[str, Any]) -> "Parameters":
        """Read the parameters of a client, iperf3's or ours."""
        ours = text.get("tcpwhy") or {}
        window = text.get("window") or None
        plain = Options(
            controller=text.get("congestion"),
            sndbuf_bytes=window,
            rcvbuf_bytes=window,
            pace_bps=text.get("fqrate") or None,
            mss=text.get("MSS"),
            nodelay=bool(text.get("nodelay")),
        )
        known = Options.__dataclass_fields__
        given = {k: v for k, v in (ours.get("options") or {}).items() if k in known}
        return Parameters(
            seconds=ours.get("seconds") or text.get("time") or None,
            bytes=text.get("num") or None,
            omit_s=float(text.get("omit") or 0),
            parallel=int(text.get("parallel") or 1),
            reverse=bool(text.get("reverse")),
            bidir=bool(text.get("bidirectional")),
            bitrate_bps=float(text.get("bandwidth") or 0) or None,
            block_bytes=int(text.get("len") or BLOCK_BYTES),
            read_bps=ours.get("read_bps"),
            options=Options(**given) if ours else plain,
        )


class Watch:
    """Samples all streams by a timer, whatever they are doing."""

    def __init__(self, streams: list[Stream]) -> None:
        self.streams = streams
        self.begin = time.monotonic()
        self.samples: dict[int, list[dict[str, Any]]] = {stream.number: [] for stream in streams}
        self._stopped = threading.Event()
        self._listener = _listener(streams)
        self._tick()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Seconds since the test began."""
        return time.monotonic() - self.begin

    def stop(self) -> None:
        """Take the last samples and end."""
        self._stopped.set()
        self._thread.join()
        self._tick()
        if self._listener:
            number, listener = self._listener
            self._note_path(self.samples[number], listener.stop())

    def _note_path(self, samples: list[dict[str, Any]], looks: Sequence[trains.Look]) -> None:
        if samples and samples[-1]["min_rtt"]:
            samples[-1]["path_bps"] = trains.path_bps(looks, samples[-1]["min_rtt"] / 1e6)

    def _run(self) -> None:
        number = 1
        while not self._stopped.wait(max(0.0, number * SAMPLE_S - self.now())):
            self._tick()
            # Samples that could not be taken in time are left out, not made up.
            number = max(number + 1, int(self.now() / SAMPLE_S) + 1)

    def _tick(self) -> None:
        for stream in self.streams:
            if (taken := stream.sample(self.now())) is not None:
                self.samples[stream.number].append(taken)


def _listener(streams: list[Stream]) -> tuple[int, trains.Listener] | None:
    """Listen to the only sender; several share the path, and what is paced comes in no trains."""
    senders = [stream for stream in streams if stream.sends]
    if len(senders) != 1 or senders[0].controller == "bbr":
        return None
    first = senders[0].sample(0.0)
    if first is None or (first["max_pacing_rate"] or NO_RATE) < NO_RATE:
        return None
    return senders[0].number, trains.Listener(senders[0].connection)


def results_json(watch: Watch, parameters: Parameters, *, with_samples: bool) -> dict[str, Any]:
    """Give what an end found, in iperf3's words; the samples for those who know them."""
    seconds = watch.now()
    streams = []
    for stream in watch.streams:
        samples = watch.samples[stream.number]
        streams.append(
            {
                "id": stream.number,
                "bytes": stream.bytes,
                "retransmits": samples[-1]["total_retrans"] if stream.sends and samples else -1,
                "jitter": 0,
                "errors": 0,
                "omitted_errors": 0,
                "packets": 0,
                "omitted_packets": 0,
                "start_time": parameters.omit_s,
                "end_time": seconds,
            }
        )
    text: dict[str, Any] = {
        "cpu_util_total": 0.0,
        "cpu_util_user": 0.0,
        "cpu_util_system": 0.0,
        "sender_has_retransmits": int(any(stream.sends for stream in watch.streams)),
        "congestion_used": watch.streams[0].controller if watch.streams else "",
        "streams": streams,
    }
    if with_samples:
        sampled = {str(k): [_text_of(one) for one in v] for k, v in watch.samples.items()}
        text["tcpwhy"] = {"samples": sampled, "window_max_bytes": _window_max(parameters)}
    return text


def samples_of(results: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """Read the samples of the other end; none when it is iperf3."""
    found = (results.get("tcpwhy") or {}).get("samples", {})
    return {
        int(number): [{**one, "raw": base64.b64decode(one["raw"])} for one in list_]
        for number, list_ in found.items()
    }


def _window_max(parameters: Parameters) -> int | None:
    """Give the largest window that a receiver here offers, once autotuning has grown it.

    Half of the buffer is for the kernel's bookkeeping (`tcp_adv_win_scale` of 1, tcp(7)).
    """
    if parameters.options.rcvbuf_bytes or parameters.options.window_clamp_bytes:
        return None
    try:
        sizes = Path("/proc/sys/net/ipv4/tcp_rmem").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(sizes[2]) // 2


def window_max_of(results: dict[str, Any]) -> int | None:
    """Read the largest window that the other end offers; None when it is fixed or not told."""
    found = (results.get("tcpwhy") or {}).get("window_max_bytes")
    return None if found is None else int(found)


def _text_of(sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample, "raw": base64.b64encode(sample["raw"]).decode()}


def close_all(streams: list[Stream]) -> None:
    """End all streams."""
    for stream in streams:
        stream.stop()


def keep_alive(connection: socket.socket) -> None:
    """Have the kernel notice when the other end of a control connection is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
