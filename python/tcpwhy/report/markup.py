"""HTML by calls: what is text is escaped, and cannot be forgotten."""

import html
from collections.abc import Iterable, Sequence


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Make an element; `class_` is its class, `data_x` the attribute data-x, None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[object]) -> Html:
    """Write one after the other; None is left out."""
    return Html("".join(_text(child) for child in children if child is not None))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    numbers: Iterable[int] = (),
    class_: str | None = None,
) -> Html:
    """Make a table; columns of `numbers` are set to the right. Its caption is its name."""
    right = set(numbers)

    def cell(kind: str, at: int, content: object) -> Html:
        scope = "col" if kind == "th" else None
        return tag(kind, content, class_="n" if at in right else None, scope=scope)

    head = tag("tr", *(cell("th", at, name) for at, name in enumerate(heads)))
    body = (tag("tr", *(cell("td", at, value) for at, value in enumerate(row))) for row in rows)
    inner = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", head),
        tag("tbody", *body),
        class_=class_,
    )
    # A wide table scrolls by itself; the page does not.
    return tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


_EMPTY = {"meta", "link", "input", "img", "source", "br", "hr"}


def _text(child: object) -> str:
    return child if isinstance(child, Html) else html.escape(str(child), quote=False)
