"""Patterns that anybody may write, drawn from pieces that repeat, overlap and nest; it judges none."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = st.sampled_from(["a", "b", "c", "[ab]", "[a-c]", ".", "[^a]", r"\d", r"\w", " ", r"\s", ",", "[^,]", "é"])
TIMES = st.sampled_from(
    ["", "", "", "", "*", "+", "?", "{2}", "{0,3}", "{2,}", "{1,20}", "{0,61}", "{1,100}", "*?", "+?"]
)
_LONE = st.tuples(PIECES, TIMES).map("".join)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequences = st.lists(inner, min_size=1, max_size=4).map("".join)
    branches = st.lists(sequences, min_size=1, max_size=3).map("|".join)
    return st.tuples(branches, TIMES).map(lambda drawn: f"({drawn[0]}){drawn[1]}")


_PARTS = st.lists(st.recursive(_LONE, lambda inner: st.one_of(_LONE, _grouped(inner)), max_leaves=8), max_size=4)
PATTERNS = st.tuples(st.sampled_from(["^", "^", ""]), _PARTS.map("".join), st.sampled_from(["$", "$", "", "z$"])).map(
    "".join
)

TEXTS = st.tuples(
    st.sampled_from(["", "a", "c,"]),
    st.text(alphabet="ab ,1c", min_size=1, max_size=4),
    st.sampled_from(["", "!", "z", "\u00a7"]),
)
"""Texts by what they begin with, repeat and end with."""

USUAL = (
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$",
    "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z]{2,}$",
    "^([a-z0-9]+(-[a-z0-9]+)*[.])+[a-z]{2,}$",
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    r"^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$",
    r"^(\d{1,3}(\.\d{1,3}){3})(,\s*\d{1,3}(\.\d{1,3}){3})*$",
    r"^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?$",
    r"^\+?\d{1,3}[-.\s]?\(?\d{1,4}\)?[-.\s]?\d{1,4}[-.\s]?\d{1,9}$",
    r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$",
    r"^-?\d*\.?\d+$",
    "^[A-Za-z]+(?:[ '-][A-Za-z]+)*$",
    r"^[^,]+(,[^,]+)*$",
    r"^.*\.(csv|parquet|json)$",
    "^https?://[^/]+(/[^/]+)*/?$",
    r'^"([^"\\]|\\.)*"$',
    r"^\s*\S+\s*$",
    r"^\S(.*\S)?$",
    r"\s+$",
    "foo.*bar",
)
"""Patterns that people write, which are taken."""
