"""What the decision tree of the paper answers, by which test, and why that is another answer."""

from collections.abc import Iterator, Sequence

from tcpwhy import _core, vocabulary
from tcpwhy.explain.facts import Half, Period
from tcpwhy.explain.words import counted
from tcpwhy.units import as_duration

THRESHOLDS = dict(_core.thresholds())
"""By the score that each is for."""

BLIND = {
    "loss": "It takes any loss for a full link, and does not look at round-trip times.",
    "evenness": (
        "It takes even spacing for the work of a link that others fill, but the acknowledgements of"
        " a full window space packets as evenly."
    ),
    "dispersion": (
        "It compares with a capacity estimated from packet spacing, and does not look at"
        " round-trip times."
    ),
    "pauses": "It looks at pauses and packet sizes, not at who was waited for.",
    "window": "It asks how near the window was, not what held the sender first.",
    "neither": "It does not look at queues, the shape of the flight, or who was waited for.",
}
"""What each test does not look at."""


def compared(half: Half, periods: Sequence[Period]) -> Iterator[str]:
    """Say what the tree answers, which test decided, and what it does not look at."""
    answer = half.limitation_siekkinen
    if answer is None:
        reason = half.null_reason or "no period was long enough"
        yield f"The decision tree has no answer ({reason})."
        return
    with_answer = [period for period in periods if period.limitation_siekkinen == answer]
    longest = max(with_answer, key=lambda p: p.end_ns - p.start_ns, default=None)
    test, why = _test(answer, longest or half)
    same = answer == half.limitation
    when = ""
    if longest is not None:
        length = as_duration(longest.end_ns - longest.start_ns)
        many = counted(len(with_answer), "period")
        when = f", in {many}, the longest of {length}" if len(with_answer) > 1 else ""
    yield f"The decision tree {'says so too' if same else f'says {answer}'}: {why}{when}."
    if same:
        return
    limitation = vocabulary.limitation(half.limitation)
    if limitation and limitation.word not in limitation.paper:
        yield f"It knows no such limit as {limitation.plain}."
    elif test in BLIND:
        yield BLIND[test]


def _test(answer: str, scores: Half | Period) -> tuple[str, str]:
    """Name the test that leads to an answer, with its scores and thresholds in words."""
    again = scores.retransmission_score or 0.0
    known = [score for score in (scores.rwnd_score, scores.rwnd_time_score) if score is not None]
    window = max(known, default=0.0)
    limits = THRESHOLDS
    if answer == "application":
        return "pauses", "pauses and small packets make application limited periods"
    if answer == "unshared_bottleneck" and scores.dispersion_score is not None:
        enough = _percent(1 - limits["dispersion"])
        fills = _percent(1 - scores.dispersion_score)
        return (
            "dispersion",
            f"throughput was {fills} of its estimate of the capacity (limit {enough})",
        )
    if answer == "shared_bottleneck" and again > limits["retransmission"]:
        limit = _percent(limits["retransmission"])
        return "loss", f"{_percent(again)} of the bytes were sent again (limit {limit})"
    if answer == "shared_bottleneck" and scores.burstiness_score is not None:
        return "evenness", (
            f"the window was full for {_percent(window)} (limit {_percent(limits['rwnd'])}), but"
            f" the packets came evenly (burstiness {scores.burstiness_score:.2f}, limit"
            f" {limits['burstiness']:.2f})"
        )
    if answer == "receiver_window":
        limit = _percent(limits["rwnd"])
        return "window", f"the window was full for {_percent(window)} (limit {limit})"
    if answer == "transport":
        return "neither", "nothing was sent again, and the window never filled"
    if answer == "mixed":
        return "neither", (
            f"{_percent(again)} sent again and a window full for {_percent(window)} decide nothing"
        )
    return "", "by its scores over all bulk transfer"


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.2g} %"
