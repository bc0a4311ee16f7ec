"""Charts of a table's past. Names come from strangers: a chart has them as values, and never as words of its own
language.

The colours are Okabe and Ito's, which colour-blind people tell apart; a shape or a place says the same.
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
    found = [{**_of(it), "verdict": word, "files": number, "rank": WORDS.index(word)}
             for it in audits for word, number in it.verdicts.items()]  # fmt: skip
    return _bars(found, "files", "Files by verdict").encode(
        color=alt.Color("verdict:N", scale=COLOUR, legend=alt.Legend(orient="top", title=None)),
        order=alt.Order("rank:Q", sort="descending"),
        tooltip=["batch:N", "audit:N", "at:T", "verdict:N", "files:Q"],
    )


def rows(audits: Sequence[TableAudit]) -> alt.Chart:
    """Return how many rows each audit read, and put aside."""
    found = [
        {**_of(it), "rows": number, "kind": kind}
        for it in audits
        for kind, number in (("rows", it.rows), ("in quarantine", it.quarantined))
        if number
    ]
    kinds = alt.Scale(domain=["rows", "in quarantine"], range=[LINE, COLOURS["quarantine"]])
    return _bars(found, "rows", "Rows").encode(
        color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(orient="top", title=None)),
        tooltip=["batch:N", "audit:N", "at:T", "kind:N", "rows:Q"],
    )


def number(audits: Sequence[TableAudit], check: str) -> alt.LayerChart:
    """Return a check's number over time, with the band of the values that pass."""
    mine = [(it, its) for it in audits for its in it.numbers if its.check == check and its.most is not None]
    found = pd.DataFrame([{**_of(it), **_values(its)} for it, its in mine])
    base = alt.Chart(found).encode(x=_audits())
    low, high = mine[-1][1].low, mine[-1][1].high
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


def _bars(found: list[dict[str, Any]], what: str, title: str) -> alt.Chart:
    made = alt.Chart(pd.DataFrame(found), title=alt.Title(title, anchor="start")).mark_bar(size=14)
    return made.encode(x=_audits(), y=alt.Y(f"{what}:Q", title=None)).properties(height=HIGH)


def _audits() -> alt.X:
    """Return the axis of audits, without labels: a batch's id is long, and pointing at it tells."""
    words = "audit by audit, the newest at the right"
    return alt.X("audit:N", sort=None, title=words, axis=alt.Axis(labels=False, ticks=False, titleFontWeight="normal"))


def _of(audit: TableAudit) -> dict[str, Any]:
    return {"batch": clean(audit.batch), "audit": f"{clean(audit.batch)} a{audit.attempt}", "at": audit.at}


def _values(its: Number) -> dict[str, Any]:
    return {"least": its.least, "most": its.most, "verdict": str(its.verdict), "failing rows": its.failing_rows}
