"""What the words of the tables are called in a sentence."""

from collections.abc import Iterable

from tcpwhy.explain.facts import Half

CULPRITS = {
    "application/idle": "The application on {src}, which had nothing to send,",
    "application/paced": "The application on {src}, or pacing on its behalf,",
    "application/small_writes": "The application on {src}, with writes of less than a segment,",
    "receiver_window/buffer": "The receive window of {dst}, too small for this path,",
    "receiver_window/slow_reader": "The application on {dst}, which read too slowly,",
    "receiver_window/no_window_scaling": "The receive window of {dst}, without window scaling,",
    "sender_window/send_buffer": "The send buffer of {src}, too small for this path,",
    "sender_window/cwnd_clamp": "A clamp on the congestion window of {src}",
    "sender_window/undetermined": "A window of {src} itself, send buffer or clamped cwnd,",
    "unshared_bottleneck/queue": "A full link, which this connection had to itself,",
    "unshared_bottleneck/loss": "A full link with a short queue, which it had to itself,",
    "shared_bottleneck/loss": "A full link, shared with others,",
    "shared_bottleneck/queue": "A full link, shared with others,",
    "shared_bottleneck/ecn": "A full link, shared with others, which marks instead of dropping,",
    "policer": "A policer, which drops what exceeds its rate,",
    "random_loss": "Random loss, of which no congestion is the cause,",
    "transport/slow_start": "Slow start, which had not ended,",
    "transport/congestion_avoidance": "The slow growth of its window in congestion avoidance",
    "transport/recovery": "The time that TCP took to recover from losses",
}
"""The subject of "… kept it from going faster", by cause."""

NAMES = {
    "application": "the application",
    "receiver_window": "the receiver's window",
    "sender_window": "the sender's own window",
    "unshared_bottleneck": "a full link, not shared",
    "shared_bottleneck": "a shared link",
    "policer": "a policer",
    "random_loss": "random loss",
    "transport": "TCP itself",
    "mixed": "several together",
}
"""What a limitation is called, next or beside another."""

NEXT = NAMES | {
    "unshared_bottleneck": "the capacity of the link",
    "random_loss": "the rate of losses",
}
"""What will limit next."""

CONFIDENCE = {
    "high": "no other cause is likely",
    "medium": "it is the likeliest of several",
    "low": "it is a guess from little",
}
"""What a confidence stands for, as the core defines it."""

STATES = {
    "S0": "the connection attempt was never answered",
    "S1": "the capture does not show its end",
    "SF": "it was closed normally",
    "REJ": "the connection attempt was refused",
    "S2": "only the opener closed its direction",
    "S3": "only the side that accepted closed its direction",
    "RSTO": "the opener reset it",
    "RSTR": "the side that accepted reset it",
    "RSTOS0": "the opener gave up with a reset, unanswered",
    "RSTRH": "it was answered and then reset, but its SYN was not seen",
    "SH": "the opener closed it, unanswered",
    "SHR": "it was answered and closed, but its SYN was not seen",
    "OTH": "its beginning is not in the capture",
}
"""Zeek's conn_state in words."""

OWNERS = {
    "application": "the application's",
    "receiver_window": "the receiver window's",
    "network": "the network's",
    "recovery": "spent on recovery",
}
"""Whose time it was, by the columns `share_…`."""

SHARES = {
    "application": "the application had nothing to send",
    "receiver_window": "the receiver's window was full",
    "network": "the network or congestion control held the sender back",
    "recovery": "losses were repaired",
}
"""What happened in that time."""


def headline(half: Half) -> str:
    """Say what limited a half, in one sentence."""
    sure = f" ({half.confidence} confidence)" if half.confidence else ""
    if half.limitation is None:
        reason = f": {half.null_reason}" if half.null_reason else ""
        return f"Nothing can be said about what limited it{reason}."
    culprit = CULPRITS.get(half.cause or "")
    if half.limitation == "mixed":
        culprit = "Several limits, none of them ahead,"
    elif culprit is None:
        culprit = _capital(NAMES.get(half.limitation, half.limitation))
    return f"{culprit.format(src=half.src, dst=half.dst)} kept it from going faster{sure}."


def limit(limitation: str | None, cause: str | None) -> str:
    """Name a limitation and its cause in a table, as the tables do."""
    return cause or limitation or "–"


def share_columns(half: Half) -> dict[str, float]:
    """Give the shares of its time that are known, the largest first."""
    shares = {name: getattr(half, f"share_{name}") for name in SHARES}
    known = {name: share for name, share in shares.items() if share is not None}
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def own_shares(limitation: str | None) -> tuple[str, ...]:
    """Name the shares of time that a limitation accounts for."""
    if limitation in ("application", "receiver_window"):
        return (limitation,)
    return () if limitation in (None, "mixed") else ("network", "recovery")


def sentence(text: str) -> str:
    """Begin with a capital, end with a full stop."""
    return f"{_capital(text.rstrip('.'))}." if text else ""


def listed(parts: Iterable[str], *, last: str = "and") -> str:
    """Join as one speaks: a, b and c."""
    items = list(parts)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def counted(number: int, noun: str) -> str:
    """Count with a noun: no loss, 1 loss, 2 losses."""
    plural = f"{noun}{'es' if noun.endswith('s') else 's'}"
    return f"{number:,} {noun if number == 1 else plural}" if number else f"no {plural}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
