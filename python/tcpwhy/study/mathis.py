"""Throughput against loss: "Validating A Very Simple Model for TCP Throughput" (ThousandEyes).

The article's experiment, repeated on the kernel and in the simulator, for the model of Mathis,
Semke, Mahdavi and Ott (1997).

Every transfer has a link of its own, so that many run at once without meeting.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

from tcpwhy import model
from tcpwhy._core import TcpwhyError, UsageError
from tcpwhy.model import fitting
from tcpwhy.study.transfers import Journal, Point

LOSSES = (0.001, 0.002, 0.004, 0.007, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
QUICK_LOSSES = (0.004, 0.02)
CONTROLLERS = ("reno", "reno_per_ack", "cubic", "bbr")
"""Reno counts what was delivered, as Linux does. Counted per acknowledgement, as kernels
of the article's time did, the window grows half as fast with delayed acknowledgements."""
PLACES = ("kernel", "simulator")
RTT_S = 0.1
RATE_BPS = 50_000_000
"""Of every link: nothing but BBR comes near to it."""
MSS_BYTES = 1448
"""1460 less 12 bytes of timestamps."""
FIT_LOSS_MAX = 0.02
"""Above that, timeouts count, which the model does not have (Mathis et al., section 4)."""
STAGGER_S = 0.05
ATTEMPTS = 5

_IN_SCENARIOS = {"bbr": "bbr1"}


@dataclass(frozen=True)
class Row:
    """The repeats of one setting, and what the models say."""

    place: str
    controller: str
    loss: float
    measured_bps: float
    """The median of the repeats."""
    least_bps: float
    most_bps: float
    mathis_bps: float
    pftk_bps: float | None
    cubic_bps: float | None
    ratio: float
    """Measured over Mathis with periodic loss, C = √(3/2)."""


@dataclass(frozen=True)
class Fit:
    """rate = C · MSS / RTT / √loss, and rate ∝ loss^exponent, with intervals of 95 %."""

    place: str
    controller: str
    constant: float
    constant_low: float
    constant_high: float
    exponent: float
    exponent_low: float
    exponent_high: float


@dataclass(frozen=True)
class Study:
    """All transfers and what follows from them."""

    points: tuple[Point, ...]
    seconds: float

    def rows(self) -> list[Row]:
        """Put the repeats together."""
        keys = dict.fromkeys((p.place, p.controller, p.loss) for p in self.points)
        return [self._row(*key) for key in sorted(keys, key=_order)]

    def fits(self) -> list[Fit]:
        """Fit the model's constant and the exponent, for each controller at each place."""
        keys = dict.fromkeys((p.place, p.controller) for p in self.points)
        return [fit for key in sorted(keys, key=_order) if (fit := self._fit(*key))]

    def _row(self, place: str, controller: str, loss: float) -> Row:
        rates = [
            p.throughput_bps
            for p in self.points
            if (p.place, p.controller, p.loss) == (place, controller, loss)
        ]
        path = {"mss_bytes": MSS_BYTES, "rtt_ns": RTT_S * 1e9, "loss": loss}
        mathis = _predicted("mathis", **path)
        assert mathis is not None
        return Row(
            place=place,
            controller=controller,
            loss=loss,
            measured_bps=median(rates),
            least_bps=min(rates),
            most_bps=max(rates),
            mathis_bps=mathis,
            pftk_bps=_predicted("pftk", **path),
            cubic_bps=_predicted("cubic", **path),
            ratio=median(rates) / mathis,
        )

    def _fit(self, place: str, controller: str) -> Fit | None:
        chosen = [
            p
            for p in self.points
            if (p.place, p.controller) == (place, controller) and p.loss <= FIT_LOSS_MAX
        ]
        if len({p.loss for p in chosen}) < 2:
            return None
        constants = fitting.fit(
            ["mathis"],
            throughput_bps=[p.throughput_bps for p in chosen],
            loss=[p.loss for p in chosen],
            rtt_ns=RTT_S * 1e9,
            mss_bytes=MSS_BYTES,
        )
        by_name = {one.name: (one.value, one.low, one.high) for one in constants}
        exponent = by_name.get("loss_exponent", (0.0, 0.0, 0.0))
        return Fit(place, controller, *by_name["c"], *exponent)


def mathis(
    *,
    places: Sequence[str] = PLACES,
    controllers: Sequence[str] = CONTROLLERS,
    losses: Sequence[float] = LOSSES,
    seconds: float = 30.0,
    repeats: int = 5,
    seed: int = 1,
    resume: Path | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> Study:
    """Run the experiment: 100 ms, every loss, every controller, so many repeats.

    Args:
        places: `kernel` (needs root), `simulator`, or both.
        controllers: of reno, reno_per_ack (simulator only), cubic, bbr.
        losses: probabilities that a data packet is lost.
        seconds: length of each transfer.
        repeats: transfers with each setting; their median counts.
        seed: of all losses.
        resume: a file for every transfer as it is made; what is there already is not made again.
        told: is given a line about what is done next.

    Raises:
        UsageError: for a place or a controller that is not there.
        InputError: when `resume` is a file of something else.
        PrivilegeError: when the kernel's part lacks one.

    """
    for name, known in [*((p, PLACES) for p in places), *((c, CONTROLLERS) for c in controllers)]:
        if name not in known:
            raise UsageError(f"no {name!r} there: {', '.join(known)}")
    journal = Journal(resume, seconds=seconds, seed=seed)
    points: list[Point] = []
    for place in places:
        chosen = [name for name in controllers if _is_at(name, place)]
        for loss in losses:
            if missing := journal.lacks(place, loss, chosen, repeats):
                told(f"{loss * 100:g} % loss, {place}, {seconds:g} s: {', '.join(missing)}")
                text = scenario(place, missing, loss, seconds, repeats, seed)
                made = [(controller, number) for controller in missing for number in range(repeats)]
                rates = _rates(place, text, told)
                journal.add(
                    [
                        Point(place, controller, loss, number, rate)
                        for (controller, number), rate in zip(made, rates, strict=True)
                    ]
                )
            points += journal.points(place, loss, chosen, repeats)
    return Study(tuple(points), seconds)


def _rates(place: str, text: str, told: Callable[[str], None]) -> list[float]:
    """Run a scenario, all its flows at once, each over a link of its own."""
    with tempfile.TemporaryDirectory(prefix="tcpwhy-mathis-") as folder:
        path = Path(folder) / f"{place}.toml"
        path.write_text(text, "utf-8")
        return _in_kernel(path, told) if place == "kernel" else _in_simulator(path)


def scenario(
    place: str,
    controllers: Sequence[str],
    loss: float,
    seconds: float,
    repeats: int,
    seed: int,
) -> str:
    """Write the scenario: one link and one flow for each controller and repeat."""
    links, flows = [], []
    count = len(controllers) * repeats
    for number in range(count):
        name = controllers[number // repeats]
        controller = _IN_SCENARIOS.get(name, name)
        links.append(
            f"[links.l{number:03}]\nforward = [{{ bernoulli.loss = {loss} }}, "
            f"{{ rate = {{ rate_bps = {RATE_BPS}, queue.drop_tail.limit_packets = 1000 }} }}, "
            f"{{ delay.delay_ms = {RTT_S * 500} }}]\n"
            f"backward = [{{ delay.delay_ms = {RTT_S * 500} }}]\n"
        )
        flows.append(
            f'[[flows]]\nfrom = "A"\nto = "B"\npath = ["l{number:03}"]\n'
            f"start_s = {number * STAGGER_S}\nworkload.bulk = {{}}\n"
            f'tcp.controller = "{controller}"\n'
        )
    head = f'title = "{loss * 100:g} % loss over {RTT_S * 1e3:g} ms, {place}"\nseed = {seed}\n'
    head += f"duration_s = {seconds + count * STAGGER_S}\n\n[hosts.A]\n[hosts.B]\n\n"
    return head + "\n".join([*links, *flows])


def _is_at(controller: str, place: str) -> bool:
    return place == "simulator" or controller != "reno_per_ack"


def _in_kernel(path: Path, told: Callable[[str], None]) -> list[float]:
    from tcpwhy.lab import run, scenario

    one = scenario.load(path)
    for attempt in range(1, ATTEMPTS + 1):
        done = run.run(one, path.parent / "run", captures=False)
        if not done.problems:
            break
        if attempt == ATTEMPTS:
            raise TcpwhyError(f"no run of {ATTEMPTS} was as meant: {done.problems[0]}")
        told(f"once more: {done.problems[0]}")
    rates = []
    for flow in one.flows:
        last = done.samples(flow.number, "forward")[-1]
        rates.append(last["bytes_acked"] * 8 / (last["at_s"] - flow.start_s))
    return rates


def _in_simulator(path: Path) -> list[float]:
    from tcpwhy import simulation
    from tcpwhy.lab import scenario

    one = scenario.load(path)
    with simulation.simulate(path, table="flows", tap="sender").to_duckdb() as connection:
        found = dict(
            connection.execute(
                "SELECT src_port, max(unique_bytes) FROM flows GROUP BY 1"
            ).fetchall()
        )
    return [found[flow.ports[0]] * 8 / (one.duration_s - flow.start_s) for flow in one.flows]


def _predicted(name: str, **parameters: float) -> float | None:
    value = model.predict(name, **parameters)
    return None if value is None else float(value)


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    place, controller, *rest = key
    return (PLACES.index(place), CONTROLLERS.index(controller), *rest)


def claims(study: Study) -> Iterator[str]:
    """Say what the article says, and what was found."""
    rows = {(row.place, row.controller, row.loss): row for row in study.rows()}
    for place in PLACES:
        for controller in ("reno", "reno_per_ack", "cubic"):
            shares = [
                log(row.ratio)
                for row in rows.values()
                if (row.place, row.controller) == (place, controller) and row.loss >= 0.01
            ]
            if shares:
                share = exp(sum(shares) / len(shares))
                yield (
                    f"{place}, {controller}: {share * 100:.0f} % of the model from 1 % of loss on "
                    "(the article: about a third less, 67 %)"
                )
            low, high = (rows.get((place, controller, loss)) for loss in (0.001, 0.004))
            if low and high:
                factor = high.measured_bps / low.measured_bps
                yield (
                    f"{place}, {controller}: from 0.1 to 0.4 % of loss the rate falls to "
                    f"{factor * 100:.0f} % (the article and the model: to half)"
                )
