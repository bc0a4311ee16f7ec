"""Contracts that were right, with hostile parts anywhere: each is loaded, or refused with faults that can be read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lakegate.contracts import load
from lakegate.contracts.odcs.document import LONGEST_FAULT, MOST_FAULTS
from lakegate.errors import ContractFaults, Fault
from tests.hostile.contracts import CORPUS, contract

_HERE = Path(__file__).parent.parent
GOOD = [
    YAML(typ="safe", pure=True).load(path.read_text())
    for path in sorted([*(_HERE.parent / "contracts").glob("*.yaml"), *(_HERE / "contracts").glob("*.yaml")])
]
SLACK = 100  # times as long as the good ones take

Path_ = tuple[Any, ...]


def places(value: Any, path: Path_ = ()) -> list[Path_]:
    """Every place below, without the root."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for step, child in steps for place in ((*path, step), *places(child, (*path, step)))]


WORDS = sorted({str(place[-1]) for good in GOOD for place in places(good)})
"""What the contracts know at some place, and mean nothing at another."""


def at(root: Any, path: Path_) -> Any:
    for step in path:
        root = root[step]
    return root


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """The text of a contract with one to four parts taken out, doubled, exchanged, put elsewhere or replaced."""
    root = json.loads(json.dumps(draw(st.sampled_from(GOOD)), default=str))
    raw: list[str] = []
    for _ in range(draw(st.integers(min_value=1, max_value=4))):
        _spoil(draw, root, raw)
    text = json.dumps(root, indent=1, ensure_ascii=draw(st.booleans()))
    for number, each in enumerate(raw):
        text = text.replace(f'"@{number}@"', each)
    return text


def _spoil(draw: st.DrawFn, root: Any, raw: list[str]) -> None:
    path = draw(st.sampled_from(places(root)))
    owner, step = at(root, path[:-1]), path[-1]
    match draw(st.integers(min_value=0, max_value=9)):
        case 0:
            del owner[step]
        case 1 if isinstance(owner, list):
            owner += [owner[step]] * draw(st.sampled_from([1, 1, 200]))
        case 2:
            other = draw(st.sampled_from(places(root)))
            owner[step] = json.loads(json.dumps(at(root, other)))
        case 3 if isinstance(owner, dict):
            owner[draw(st.sampled_from(WORDS))] = _hostile(draw, raw)
        case _:
            owner[step] = _hostile(draw, raw)


def _hostile(draw: st.DrawFn, raw: list[str]) -> str:
    raw.append(draw(st.sampled_from(CORPUS)))
    return f"@{len(raw) - 1}@"


def faults_of(text: str) -> tuple[Fault, ...]:
    try:
        load(text, "hostile.yaml")
    except ContractFaults as faults:
        return faults.faults
    return ()


def took(text: str) -> float:
    began = time.process_time()
    faults_of(text)
    return time.process_time() - began


@pytest.fixture(scope="module")
def usual() -> float:
    """Return how long the largest of the good contracts takes."""
    text = max(map(json.dumps, GOOD), key=len)
    return max(0.004, *(took(text) for _ in range(3)))


@given(text=spoilt())
def test_a_spoilt_contract_is_loaded_or_refused_with_faults_that_can_be_read(text: str, usual: float) -> None:
    began = time.process_time()

    found = faults_of(text)

    assert time.process_time() - began < usual * SLACK
    assert_readable(found, text)


@pytest.mark.parametrize("hostile", CORPUS, ids=range(len(CORPUS)))
def test_a_hostile_value_at_every_place_is_refused_with_faults_that_can_be_read(hostile: str) -> None:
    for text in (COLUMNS, TABLE, SPELT):
        spoilt = text.replace("@", hostile)

        assert_readable(faults_of(spoilt), spoilt)


def _options(kinds: str, words: str) -> list[str]:
    return [
        f"physicalType: {kind}, logicalTypeOptions: {{{word}: @}}" for kind in kinds.split() for word in words.split()
    ]


def _checked(quality: str) -> str:
    return f"logicalType: integer, quality: [{{{quality}}}]"


def _ours(implementation: str) -> str:
    return f"type: custom, engine: lakegate, implementation: {{{implementation}}}"


_NUMBERED = "int float double 'decimal(38,10)' date timestamp timestamp_ntz"
_OF_COLUMNS = [
    *_options(_NUMBERED, "minimum exclusiveMaximum multipleOf format"),
    *_options("string", "pattern format minLength maxLength"),
    *(f"physicalType: {kind}, enum: [{{value: @}}]" for kind in (*_NUMBERED.split(), "string", "boolean")),
    *("physicalType: @", "logicalType: @", "logicalType: object, properties: @", "logicalType: map, map: @"),
    *("logicalType: date, classification: @", "logicalType: integer, relationships: [{to: @}]"),
    _checked("metric: invalidValues, arguments: {validValues: @}, mustBe: 0"),
    _checked("metric: missingValues, arguments: {missingValues: [@]}, mustBe: 0"),
    *(_checked(f"metric: nullValues, {word}: @, mustBe: 0") for word in ("name", "unit", "severity", "type")),
    *(_checked(f"metric: nullValues, {word}: @") for word in ("mustBe", "mustBeBetween")),
    _checked("type: sql, query: @, mustBe: 0"),
    *(_checked(_ours(f"{word}: @")) for word in ("quantile", "share", "drift", "mean", "notInFuture")),
]
_OF_THE_TABLE = [_ours("row: @"), _ours("atLeastOneOf: @"), _ours("drift: @, mustBeLessThan: 5"), "type: sql, query: @"]
_SETTINGS = ("quarantineBudget", "branchDays", "scope", "newColumns", "reuploads", "batchFiles")
_PROMISED = ("element: day, value: @, unit: d", "element: @, value: 1, unit: d", "element: day, value: 1, unit: @")

COLUMNS = contract(columns="".join(f"      - {{name: c{at}, {column}}}\n" for at, column in enumerate(_OF_COLUMNS)))
TABLE = contract(
    columns="      - {name: @, logicalType: string, unique: true}\n"
    "      - {name: c, physicalName: @, logicalType: date}\n",
    table="    quality:\n"
    + "".join(f"      - {{{entry}}}\n" for entry in _OF_THE_TABLE)
    + "    customProperties:\n"
    + "".join(f"      - {{property: {name}, vendor: lakegate, value: @}}\n" for name in _SETTINGS)
    + "      - {property: @, vendor: lakegate, value: 1}\n",
    root="slaProperties:\n" + "".join(f"  - {{property: latency, {promise}}}\n" for promise in _PROMISED),
)
SPELT = contract(
    columns="      - {name: c, logicalType: string, customProperties: "
    "[{property: nullValues, vendor: lakegate, value: @}]}\n"
).replace(
    "format: parquet}",
    "format: csv, encoding: @, delimiter: @, customProperties: ["
    + ", ".join(
        f"{{property: {name}, vendor: lakegate, value: @}}" for name in ("quote", "escape", "nullValues", "maxRows")
    )
    + ", {property: dateFormat, vendor: lakegate, value: @}, {property: timestampFormat, vendor: lakegate, value: @}]}",
)


def assert_readable(found: tuple[Fault, ...], text: str) -> None:
    """Few faults, each of them short and of one line, at a line of the text, and none of lakegate's own making."""
    lines = text.count("\n") + 1
    assert len(found) <= MOST_FAULTS + 1
    for fault in found:
        assert 1 <= fault.line <= lines, fault
        assert fault.message.isprintable()
        assert len(fault.message) <= LONGEST_FAULT
        assert "lakegate cannot read on from here" not in fault.message
