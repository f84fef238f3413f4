"""What the words of the tables are called in a sentence."""

from collections.abc import Iterable

from tcpwhy import vocabulary
from tcpwhy.explain.facts import Half

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
    """Say what limited a direction, in one sentence."""
    sure = f" ({half.confidence} confidence)" if half.confidence else ""
    if half.limitation is None:
        reason = f": {half.null_reason}" if half.null_reason else ""
        return f"What limited it is unknown{reason}."
    cause = vocabulary.cause(half.cause)
    culprit = cause.culprit if cause else vocabulary.plain(half.limitation)
    if half.limitation == "mixed":
        culprit = "several causes, none of them ahead"
    return f"Limited by {culprit.format(src=half.src, dst=half.dst)}{sure}."


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
    found = vocabulary.limitation(limitation)
    return found.owners if found else ()


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
