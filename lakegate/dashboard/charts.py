"""Charts of a table's past. Names come from strangers: a chart has them as values, and never as words of its own
language.

The colours are Okabe and Ito's, which colour-blind people can distinguish; a shape or a place says the same.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from lakegate.audit.model.report import WORST_FIRST
from lakegate.cli.terminal import clean
from lakegate.operations.tables import Number, TableAudit

COLOURS = {"fail": "#D55E00", "quarantine": "#CC79A7", "warn": "#E69F00", "pass": "#009E73"}
COLOURS |= {"would fail": "#56B4E9", "would quarantine": "#F0E442"}
SHAPES = {"fail": "cross", "quarantine": "triangle-up", "warn": "square", "pass": "circle"}
SHAPES |= {"would fail": "diamond", "would quarantine": "triangle-down"}
LINE, BAND = "#0072B2", "#009E73"
HIGH = 240
WORDS = [str(verdict) for verdict in WORST_FIRST]
COLOUR = alt.Scale(domain=WORDS, range=[COLOURS[word] for word in WORDS])
SHAPE = alt.Scale(domain=WORDS, range=[SHAPES[word] for word in WORDS])


def files(audits: Sequence[TableAudit]) -> alt.Chart:
    """Return how many files came to which verdict, audit by audit."""
    points = [{**_of(audit), "verdict": word, "files": number, "rank": WORDS.index(word)}
             for audit in audits for word, number in audit.verdicts.items()]  # fmt: skip
    return _bars(points, "files", "Files by verdict").encode(
        color=alt.Color("verdict:N", scale=COLOUR, legend=alt.Legend(orient="top", title=None)),
        order=alt.Order("rank:Q", sort="descending"),
        tooltip=["batch:N", "audit:N", "at:T", "verdict:N", "files:Q"],
    )


def rows(audits: Sequence[TableAudit]) -> alt.Chart:
    """Return how many rows each audit read, and put aside."""
    points = [
        {**_of(audit), "rows": number, "kind": kind}
        for audit in audits
        for kind, number in (("rows", audit.rows), ("in quarantine", audit.quarantined))
        if number
    ]
    kinds = alt.Scale(domain=["rows", "in quarantine"], range=[LINE, COLOURS["quarantine"]])
    return _bars(points, "rows", "Rows").encode(
        color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(orient="top", title=None)),
        tooltip=["batch:N", "audit:N", "at:T", "kind:N", "rows:Q"],
    )


def number(audits: Sequence[TableAudit], check: str) -> alt.LayerChart:
    """Return a check's number over time, with the band of the values that pass."""
    pairs = [
        (audit, measure)
        for audit in audits
        for measure in audit.numbers
        if measure.check == check and measure.most is not None
    ]
    frame = pd.DataFrame([{**_of(audit), **_values(measure)} for audit, measure in pairs])
    base = alt.Chart(frame).encode(x=_audits())
    low, high = pairs[-1][1].low, pairs[-1][1].high
    band = pd.DataFrame([{"low": low, "high": high}])
    edges: list[Any] = [
        alt.Chart(band).mark_rule(color=BAND, strokeDash=[4, 3]).encode(y=alt.Y(f"{name}:Q"))
        for name, end in (("low", low), ("high", high))
        if end is not None
    ]
    if low is not None and high is not None:
        edges.insert(0, alt.Chart(band).mark_rect(color=BAND, opacity=0.12).encode(y="low:Q", y2="high:Q"))
    line = base.mark_line(color=LINE).encode(y=alt.Y("most:Q", title=None))
    spread = base.mark_rule(color=LINE, strokeWidth=2).encode(y="least:Q", y2="most:Q")
    points = base.mark_point(size=70, filled=True).encode(
        y="most:Q",
        color=alt.Color("verdict:N", scale=COLOUR, legend=alt.Legend(orient="top", title=None)),
        shape=alt.Shape("verdict:N", scale=SHAPE),
        tooltip=["batch:N", "audit:N", "at:T", "verdict:N", "least:Q", "most:Q", "failing rows:Q"],
    )
    return alt.layer(*edges, line, spread, points).properties(height=HIGH)


def _bars(points: list[dict[str, Any]], field: str, title: str) -> alt.Chart:
    chart = alt.Chart(pd.DataFrame(points), title=alt.Title(title, anchor="start")).mark_bar(size=14)
    return chart.encode(x=_audits(), y=alt.Y(f"{field}:Q", title=None)).properties(height=HIGH)


def _audits() -> alt.X:
    """Return the axis of audits, without labels: a batch's id is long, and pointing at it shows it."""
    words = "audit by audit, the newest at the right"
    return alt.X("audit:N", sort=None, title=words, axis=alt.Axis(labels=False, ticks=False, titleFontWeight="normal"))


def _of(audit: TableAudit) -> dict[str, Any]:
    return {"batch": clean(audit.batch), "audit": f"{clean(audit.batch)} a{audit.attempt}", "at": audit.at}


def _values(measure: Number) -> dict[str, Any]:
    return {
        "least": measure.least,
        "most": measure.most,
        "verdict": str(measure.verdict),
        "failing rows": measure.failing_rows,
    }
