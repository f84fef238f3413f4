"""The argument for one connection as a page of its own, with its graph beside it."""

from contextlib import suppress

from tcpwhy._core import TcpwhyError
from tcpwhy.explain.connection import Connection
from tcpwhy.report.flowpage import graph, side
from tcpwhy.report.markup import Html, joined, tag
from tcpwhy.report.page import document
from tcpwhy.report.pictures import Picture, drawn
from tcpwhy.report.pieces import confidence, limit
from tcpwhy.units import as_bytes, as_rate


def page(connection: Connection, picture: Picture | None) -> str:
    """Give the page: one file that loads nothing and sends nothing, without a script."""
    half = connection.facts.halves[0]
    body = tag("main", head(connection), tag("section", body_of(connection, picture)))
    return document(f"{half.pair} · tcpwhy explain", body, has_charts=False)


def head(connection: Connection) -> Html:
    """Name the connection, when it was, and what limited it."""
    half = connection.facts.halves[0]
    return tag(
        "header",
        tag("p", "What limited it", class_="soft"),
        tag("h1", half.pair),
        tag(
            "p",
            limit(half.limitation, half.cause),
            " ",
            confidence(half.confidence),
            f" {as_bytes(half.unique_bytes)} · {as_rate(half.goodput_bps)}",
        ),
        tag("p", connection.lasted, " · flow ", tag("code", half.flow_id), class_="soft"),
        *(tag("p", f"Damage: {error}", class_="bad") for error in connection.facts.damage),
    )


def body_of(connection: Connection, picture: Picture | None) -> Html:
    """Give the graph, then the argument for each direction."""
    if not connection.sides:
        return tag("p", "No data moved.")
    cards = (tag("div", side(one, connection), class_="card") for one in connection.sides)
    drawn = graph(picture)
    return joined((tag("div", drawn, class_="card") if drawn else None, *cards))


def picture_of(connection: Connection, theme: str = "auto") -> Picture | None:
    """Draw the connection; nothing where its segments are not to be had."""
    source = connection.facts.source
    if source != "-" and connection.sides:
        # What cannot be drawn is argued all the same.
        with suppress(TcpwhyError):
            return drawn(source, connection.facts.halves[0].flow_id, theme)
    return None


def fragment(connection: Connection) -> Html:
    """Give the argument for a notebook: text and graph, without a style sheet."""
    picture = picture_of(connection, "light")
    image = tag("img", src=picture.address, alt=picture.told, width=860) if picture else None
    sides = (
        tag(
            "div",
            tag("p", tag("b", one.headline)),
            tag("p", one.moved, " ", " ".join(one.limit)),
            tag("p", tag("b", "Remedy: "), one.remedy) if one.remedy else None,
            tag("p", tag("b", "Gain: "), one.gain) if one.gain else None,
        )
        for one in connection.sides
    )
    return tag("div", tag("p", connection.facts.halves[0].pair), image, *sides, class_="tcpwhy")
