"""One run of a scenario on the kernel: traffic, captures, samples, and what all of it shows."""

import base64
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcpwhy._core import TcpwhyError
from tcpwhy.host import tcpinfo
from tcpwhy.lab import tracepoint, workload
from tcpwhy.lab.kernelpath import COLUMNS
from tcpwhy.lab.namespace import Namespace
from tcpwhy.lab.network import DEVICE, OWN, Network
from tcpwhy.lab.scenario import Flow, Scenario
from tcpwhy.lab.tracepoint import Tracepoint

SAMPLE_S = 0.1
"""How often the kernel is asked about every socket."""
LEAD_S = 0.4
"""From the order to the start of the run: hosts are ready by then."""
LATE = {"p99_ns": (2.0, 0.1), "p999_ns": (10.0, 0.5)}
"""How late frames may leave, in ms and as a share of the round trip, whichever is more: one in a
hundred, and one in a thousand. On an idle machine an emulator with real-time scheduling stays below
0.1 ms, and delayed acknowledgements vary round trips by far more than 2 ms. What is rarer is the
pauses of a shared machine as a whole. What is delayed by less than half a round trip still comes in
order and long before a timeout (200 ms at least). The self-check looks at what came of it."""
CAPTURE_BYTES = 128
CAPTURE_DELAY_S = 1.2
"""libpcap hands over a block of frames after 1 s at the latest; what is in it then, is lost."""
SIDES = ("forward", "backward")


class LabError(TcpwhyError):
    """A run that does not count; the text says why."""


@dataclass
class Run:
    """What a run left behind: a folder of captures and tables, and the facts."""

    scenario: Scenario
    folder: Path
    start_ns: int
    """When the scenario's time 0 was, in ns since the Unix epoch."""
    emulator: dict[str, Any]
    ends: list[dict[str, Any]]
    captures: dict[str, Path]
    problems: list[str]
    """What makes it a run that was not meant; nothing when it counts."""
    traced: dict[str, Any]
    """Rows of `cwnd.parquet` and events that were lost; or under `failure` why there are none."""

    def samples(self, flow: int, side: str) -> list[dict[str, Any]]:
        """Give the samples of one end of a connection, decoded."""
        found = next(end for end in self.ends if (end["flow"], end["side"]) == (flow, side))
        samples: list[dict[str, Any]] = found["samples"]
        return samples

    def deeds(self, flow: int, side: str) -> dict[str, Any]:
        """Give what the program at one end did."""
        found = next(end for end in self.ends if (end["flow"], end["side"]) == (flow, side))
        deeds: dict[str, Any] = found["deeds"]
        return deeds


def run(
    scenario: Scenario,
    folder: Path,
    *,
    captures: bool = True,
    emulator: str = OWN,
    sample_s: float = SAMPLE_S,
) -> Run:
    """Run a scenario once; the folder is made anew. The kernel is asked each `sample_s`."""
    if obstacles := list(scenario.obstacles()):
        raise LabError(f"{scenario.name} is for the simulator: {'; '.join(obstacles)}")
    if captures and not shutil.which("tcpdump"):
        raise LabError("the lab captures with tcpdump: apt install tcpdump")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    middle = folder / "middle.pcap" if captures else None
    with ExitStack() as stack:
        tracer = None
        if captures:
            tracer = Tracepoint(folder / "tcp_probe.txt", _sending_ports(scenario))
            stack.callback(tracer.close)
        network = stack.enter_context(Network(scenario, middle=middle, emulator=emulator))
        hosts = _tcp_hosts(scenario) if captures else []
        at = _capture_points(network, hosts, captures=captures)
        captured = {name: _capture(*place, name, folder) for name, place in at.items()}
        start_ns = _traffic(network, sample_s)
        ends = [end for host in network.hosts.values() for end in host.call("results")]
        traced = tracer.stop() if tracer else {"failure": "not asked for"}
        time.sleep(CAPTURE_DELAY_S if captures else 0.0)
        dumps = {name: _end_capture(at[name][0]) for name in captured}
        facts = network.stop()
        interfaces = {
            name: host.call("statistics", device=DEVICE) for name, host in network.hosts.items()
        }
    for end in ends:
        end["samples"] = [_decoded(sample) for sample in end["samples"] if sample["raw"]]
    files = dict(captured) | ({"middle": middle} if middle and middle.exists() else {})
    traced |= _keep_trace(folder, ends, traced)
    problems = [*_problems(scenario, facts, dumps, interfaces), *_failures(ends)]
    result = Run(scenario, folder, start_ns, facts, ends, files, problems, traced)
    _write(result, dumps, interfaces)
    return result


def _tcp_hosts(scenario: Scenario) -> list[str]:
    return sorted({host for flow in scenario.flows for host in flow.hosts})


def _sending_ports(scenario: Scenario) -> list[int]:
    """Ports of the ends that send data."""
    ports = [flow.ports[0] for flow in scenario.flows]
    both = {"request_response", "flow_control"}
    return ports + [flow.ports[1] for flow in scenario.flows if both & flow.workload.keys()]


def _keep_trace(folder: Path, ends: list[dict[str, Any]], traced: dict[str, Any]) -> dict[str, Any]:
    """Make a table of what the tracepoint said, on the clock of the captures."""
    text = folder / "tcp_probe.txt"
    if "failure" in traced:
        return {}
    cookies = {end["cookie"]: (end["flow"], end["side"]) for end in ends if end["cookie"]}
    offset = time.time_ns() - time.monotonic_ns()
    rows = tracepoint.keep(text, folder / "cwnd.parquet", cookies, offset)
    text.unlink()
    return {"rows": rows}


def _capture_points(
    network: Network, hosts: list[str], *, captures: bool
) -> dict[str, tuple[Namespace, str]]:
    """Where tcpdump captures: at hosts, and in the middle where no emulator of ours does."""
    at = {name: (network.hosts[name], DEVICE) for name in hosts}
    if captures and network.path and (middle := network.path.middle()):
        at["middle"] = middle
    return at


def _capture(host: Namespace, device: str, name: str, folder: Path) -> Path:
    path = folder / f"{name}.pcap"
    path.touch()
    command = ["tcpdump", "-n", "-i", device, "-s", str(CAPTURE_BYTES), "-B", "16384"]
    command += ["--time-stamp-precision=nano", "-Z", "root", "-w", str(path.resolve()), "tcp"]
    if os.geteuid() != 0:
        # Inside a user namespace there is no other user to become.
        command = [word for word in command if word not in ("-Z", "root")]
    host.call("start", name="tcpdump", command=command, ready="listening on")
    return path


def _end_capture(host: Namespace) -> dict[str, int]:
    """End a capture; how many packets it has and how many the kernel dropped."""
    _, said = host.call("stop", name="tcpdump")
    numbers = {
        line.split(" ", 1)[1]: int(line.split()[0])
        for line in said.splitlines()
        if line[:1].isdigit()
    }
    captured = next((n for words, n in numbers.items() if words.endswith("captured")), 0)
    return {"captured": captured, "dropped": numbers.get("packets dropped by kernel", 0)}


def _traffic(network: Network, sample_s: float = SAMPLE_S) -> int:
    """Plan all connections and start the run; when its time 0 is on the wall clock."""
    scenario = network.scenario
    for flow in scenario.flows:
        _plan(network, flow)
    for number, udp in enumerate(scenario.udp):
        near, far = (scenario.hosts[host] for host in udp.hosts)
        header = 48 if ":" in near else 28
        network.hosts[udp.hosts[0]].call(
            "udp",
            local=(near, udp.port),
            remote=(far, udp.port),
            source=udp.source,
            payload_bytes=udp.wire_bytes - scenario.overhead_bytes - header,
            start_s=udp.start_s,
            stop_s=udp.stop_s,
            seed=scenario.seed + number,
        )
    start = time.monotonic() + LEAD_S
    start_ns = time.time_ns() + round((start - time.monotonic()) * 1e9)
    network.begin(start)
    for host in network.hosts.values():
        host.call("go", start=start, until=start + scenario.duration_s, sample_s=sample_s)
    time.sleep(max(0.0, start + scenario.duration_s - time.monotonic()))
    return start_ns


def _plan(network: Network, flow: Flow) -> None:
    from tcpwhy.lab import settings

    ends = [
        (network.scenario.hosts[host], port)
        for host, port in zip(flow.hosts, flow.ports, strict=True)
    ]
    for i in (1 - flow.opener, flow.opener):
        plan: dict[str, Any] = {
            "flow": flow.number,
            "side": SIDES[i],
            "local": ends[i],
            "remote": ends[1 - i],
            "program": _program(flow, i),
            "options": settings.options(flow.tcp[i]),
        }
        host = network.hosts[flow.hosts[i]]
        if i == flow.opener:
            host.call("connect", **plan, start_s=flow.start_s)
        else:
            host.call("listen", **plan)


def _program(flow: Flow, end: int) -> dict[str, Any]:
    if turns := flow.workload.get("request_response"):
        return {"asks": end == 0, "turns": turns}
    if window := flow.workload.get("flow_control"):
        return {"allows": end == 1, "window": window}
    if end:
        return {"read": flow.reader}
    if relay := flow.workload.get("relay"):
        return {"relay": relay}
    most = workload.write_bytes_most(flow.tcp[end].get("send_buffer_bytes"))
    return {"write": flow.workload, "most_bytes": most}


def _decoded(sample: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in sample.items() if key != "raw"},
        **tcpinfo.decode(sample["raw"]),
        "raw": base64.b64encode(sample["raw"]).decode(),
    }


def _problems(
    scenario: Scenario,
    emulator: dict[str, Any],
    dumps: dict[str, dict[str, int]],
    interfaces: dict[str, dict[str, int]],
) -> Iterator[str]:
    """Say what makes a run another one than was meant."""
    for quantile, (ms, share) in LATE.items():
        late_ms = (emulator["lateness"][quantile] or 0) / 1e6
        if late_ms > max(ms, share * scenario.round_trip_ms):
            one = {"p99_ns": "100", "p999_ns": "1000"}[quantile]
            yield f"1 frame in {one} left more than {late_ms:.1f} ms late: the machine was too busy"
    for name in ("overflow", "refused", "unsplit", "read_errors", "lost_rows"):
        if emulator[name]:
            yield f"the emulator counts {emulator[name]} under {name}"
    if emulator["failure"]:
        yield f"the emulator ended: {emulator['failure']}"
    for name, counts in dumps.items():
        if counts["dropped"]:
            yield f"the capture at {name} lost {counts['dropped']} packets"
    for name, counts in interfaces.items():
        if counts["tx_drop"] or counts["rx_drop"]:
            yield f"the interface of {name} dropped packets: {counts}"


def _failures(ends: list[dict[str, Any]]) -> Iterator[str]:
    for end in ends:
        if end["failure"]:
            yield f"flow {end['flow']} {end['side']}: {end['failure']}"
        elif not end["samples"]:
            yield f"flow {end['flow']} {end['side']} has no sample"


def _write(run: Run, dumps: dict[str, Any], interfaces: dict[str, Any]) -> None:
    """Keep everything in the folder: tables as Parquet, samples and facts as JSON."""
    import duckdb

    with duckdb.connect() as connection:
        for table in ("events", "queues"):
            rows = run.emulator.pop(table)
            if isinstance(rows, list):
                _fill(connection, table, rows)
            else:
                connection.register(table, rows)
            target = str(run.folder / f"{table}.parquet").replace("'", "''")
            connection.execute(f"COPY (FROM {table}) TO '{target}' (COMPRESSION zstd)")
    with (run.folder / "tcp_info.jsonl").open("w", encoding="utf-8") as file:
        for end in run.ends:
            for sample in end["samples"]:
                row = {"flow": end["flow"], "side": end["side"], **sample}
                file.write(json.dumps(row) + "\n")
    facts = {
        "scenario": run.scenario.name,
        "title": run.scenario.title,
        "seed": run.scenario.seed,
        "start_ns": run.start_ns,
        "kernel": os.uname().release,
        "emulator": run.emulator,
        "captures": {name: path.name for name, path in run.captures.items()},
        "tcpdump": dumps,
        "interfaces": interfaces,
        "programs": [{k: end[k] for k in ("flow", "side", "deeds")} for end in run.ends],
        "tcp_probe": run.traced,
        "problems": run.problems,
    }
    (run.folder / "run.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _fill(connection: Any, table: str, rows: list[dict[str, Any]]) -> None:
    """Make a table of what the kernel counted."""
    columns = COLUMNS[table]
    listed = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    connection.execute(f"CREATE TABLE {table} ({listed})")
    if rows:
        marks = ", ".join("?" * len(columns))
        values = [[row[name] for name in columns] for row in rows]
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
