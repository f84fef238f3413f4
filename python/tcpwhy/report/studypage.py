"""The case study of the paper, for the data at hand, as a section of the page."""

from datetime import UTC, datetime

from tcpwhy.report.markup import Html, joined, table, tag
from tcpwhy.report.pieces import limit, rate
from tcpwhy.study.internet import LEAST_PACKETS, Study
from tcpwhy.units import as_share


def section(study: Study, charts: Html | None) -> Html:
    """Show the tables of the study, then its distributions."""
    told = (
        "What S. Bauer and others show for nine traces of a backbone (Scalable TCP Throughput"
        " Limitation Monitoring, IM 2021), for the data at hand. The answers are those of the"
        " paper's own tree, not the refined ones above."
    )
    relevant = as_share(study.relevant)
    flows = (
        f"{relevant} of the flows have more than {LEAST_PACKETS} data packets (1 % to 2 % in the"
        f" paper); {study.with_capacity:,} have a handshake and an estimate of the capacity."
    )
    return joined(
        (
            tag("p", told, class_="soft"),
            _trace(study),
            tag("p", flows),
            tag(
                "div",
                tag("div", tag("h3", "Packets per flow"), _percentiles(study)),
                tag("div", tag("h3", "Ports of services"), _ports(study)),
                tag("div", tag("h3", "Root causes"), _causes(study)),
                tag("div", tag("h3", "The paper's numbers"), _checks(study)),
                class_="grid",
            ),
            charts,
        )
    )


def trace_row(study: Study) -> tuple[str, ...]:
    """Give the row of Table I."""
    trace = study.trace
    when = "–"
    if trace.begin_ns is not None and trace.end_ns is not None:
        begin, end = (
            datetime.fromtimestamp(at // 10**9, UTC) for at in (trace.begin_ns, trace.end_ns)
        )
        when = f"{begin:%Y/%m/%d, %H:%M}-{end:%H:%M}"
    return when, rate(trace.rate_bps), f"{trace.packets:,}", f"{trace.flows:,}"


TABLE_I = ("Date, time (UTC)", "Avg. data rate of TCP", "TCP packets", "TCP flows")


def _trace(study: Study) -> Html:
    return table(TABLE_I, [trace_row(study)], caption="Table I", numbers=(1, 2, 3))


def _percentiles(study: Study) -> Html:
    rows = [(f"{point:g} %", f"{value:,.0f}") for point, value in study.percentiles.items()]
    heads = ("of flows have at most", "packets")
    return table(heads, rows, caption="Packets per flow, both directions", numbers=(1,))


def _ports(study: Study) -> Html:
    rows = [(port.name, f"{port.flows:,}", as_share(port.share)) for port in study.ports]
    return table(("class", "flows", ""), rows, caption="Flows by class of port", numbers=(1, 2))


def _causes(study: Study) -> Html:
    rows = [
        (
            limit(cause.limitation),
            f"{cause.intervals:,}",
            as_share(cause.share),
            "–" if cause.paper is None else as_share(cause.paper),
        )
        for cause in study.causes
    ]
    heads = ("answer of the tree", "intervals", "here", "paper")
    return table(heads, rows, caption="Share of each root cause", numbers=(1, 2, 3))


def _checks(study: Study) -> Html:
    rows = [(check.what, check.here, check.paper) for check in study.checks]
    return table(("share of", "here", "paper"), rows, caption="Quoted numbers", numbers=(1, 2))
