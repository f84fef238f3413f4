"""The case study as figures: distributions by class of port, and root causes side by side."""

from typing import Any

from tcpwhy.extras import require
from tcpwhy.report.charts import SERIES, SOFT, distribution
from tcpwhy.report.contents import ENDS
from tcpwhy.study.survey import Survey
from tcpwhy.vocabulary import limitations

METHODS = {
    "paper": "the paper's traces",
    "tree": "its tree, here",
    "seed": "its tree with the prototype's formulas, here",
    "ours": "tcpwhy, the same intervals",
}
WIDTH, BAR = 520, 11


def figures(found: Survey) -> dict[str, Any]:
    """Draw every figure that has something to show; by the name of its file."""
    drawn = {}
    for name, (title, unit, points) in found.whole.distributions.items():
        if points:
            ends = None if unit else ENDS.get(name, (-1, 1))
            drawn[name] = distribution(points, title, unit=unit, ends=ends)
    if found.counted:
        drawn["roots"] = _roots(found)
    return drawn


def _roots(found: Survey) -> Any:
    alt = require("altair", extra="plot")
    plain = {one.word: one.plain for one in limitations()} | {"none": "no verdict"}
    roots = [root for root in found.roots if any(getattr(root, name) for name in METHODS)]
    order = [plain.get(root.limitation, root.limitation) for root in roots]
    rows = [
        {"answer": answer, "method": METHODS[name], "share": getattr(root, name)}
        for answer, root in zip(order, roots, strict=True)
        for name in METHODS
        if getattr(root, name)
    ]
    methods = [*METHODS.values()]
    scale = alt.Scale(domain=methods, range=SERIES[: len(methods)])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("share:Q", title="Share of intervals", axis=alt.Axis(format="%", tickCount=6)),
        y=alt.Y("answer:N", title=None, sort=order),
        yOffset=alt.YOffset("method:N", sort=methods),
    )
    legend = alt.Legend(orient="top", columns=2, labelLimit=400)
    bars = base.mark_bar(height=BAR - 2).encode(
        color=alt.Color("method:N", title=None, sort=methods, scale=scale, legend=legend)
    )
    labels = base.mark_text(align="left", dx=3, fontSize=9, color=SOFT).encode(
        text=alt.Text("share:Q", format=".1%")
    )
    size = {"width": WIDTH, "height": alt.Step(BAR)}
    drawn = (bars + labels).properties(**size, background="white", padding=12)
    return drawn.configure_view(stroke=None).configure_axis(
        labelFontSize=12, titleFontWeight="normal", labelLimit=260, titleFontSize=12
    )
