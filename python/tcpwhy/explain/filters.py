"""Display filters of Wireshark that show the packets of an argument."""

from collections.abc import Sequence

from tcpwhy import vocabulary
from tcpwhy.explain.facts import Half
from tcpwhy.explain.timeline import Run


def of_flow(half: Half) -> str:
    """Give the filter for all packets of the flow."""
    ip = "ipv6" if ":" in half.src else "ip"
    hosts = (f"{ip}.addr == {address}" for address in dict.fromkeys((half.src, half.dst)))
    ports = (f"tcp.port == {port}" for port in dict.fromkeys((half.src_port, half.dst_port)))
    return " && ".join((*hosts, *ports))


def telling(half: Half) -> str | None:
    """Give the filter for those packets of the flow in which the cause shows best, if any."""
    cause = vocabulary.cause(half.cause)
    wanted = cause.filter if cause else None
    rtt_ns = half.rtt_mean_ns
    if wanted is None or ("{rtt_s" in wanted and not rtt_ns):
        return None
    if "{mss}" in wanted and not half.effective_mss:
        return None
    told = wanted.format(rtt_s=(rtt_ns or 0) / 1e9, mss=half.effective_mss)
    if ":" in half.src:
        told = told.replace("ip.dsfield.ecn", "ipv6.tclass.ecn")
    return f"{of_flow(half)} && ({told})"


def during(half: Half, found: Sequence[Run]) -> tuple[Run, str] | None:
    """Give the longest run of the cause, with the filter for its time; None if it is all."""
    mine = [run for run in found if (run.limitation, run.cause) == (half.limitation, half.cause)]
    if not mine or len(found) < 2:
        return None
    longest = max(mine, key=lambda run: run.length_ns)
    begin, end = seconds(longest.start_ns), seconds(longest.end_ns)
    span = f"frame.time_epoch >= {begin} && frame.time_epoch <= {end}"
    return longest, f"{of_flow(half)} && {span}"


def seconds(ns: int) -> str:
    """Write a time as Wireshark takes it."""
    return f"{ns // 10**9}.{ns % 10**9:09d}"
