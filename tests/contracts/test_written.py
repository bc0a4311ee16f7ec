"""The lines that a contract lacks are told as they are to be written, and with them the contract loads."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from ruamel.yaml import YAML

from lakegate.contracts import load
from lakegate.contracts.odcs import examples
from lakegate.errors import ContractFaults, Fault

WHOLE = examples.WHOLE
NESTED = f"{WHOLE}\n      - name: tags\n        logicalType: array"
PARTITION = "[{property: partitionTransform, vendor: lakegate, value: 'bucket[4]'}]"
CASES: dict[str, tuple[str, str]] = {
    **{f"no {word}": (WHOLE.replace(f"{examples.EXAMPLES[word]}\n", "", 1), examples.EXAMPLES[word])
       for word in ("apiVersion", "kind", "id", "version")},
    "nothing": ("", examples.WHOLE),
    "an old version": (WHOLE.replace("v3.2.0", "v2.2.2"), examples.EXAMPLES["apiVersion"]),
    "no server": (WHOLE.replace(examples.LANDING, "servers: []"), examples.LANDING),
    "no format": (WHOLE.replace("    format: parquet\n", ""), examples.EXAMPLES["format"]),
    "a place that is not the landing bucket": (WHOLE.replace("s3://landing/", "s3://other/"),
                                               examples.EXAMPLES["location"]),
    "another server": (WHOLE.replace("type: s3", "type: custom"), examples.EXAMPLES["type"]),
    "no table": (WHOLE.replace("shop.orders\n", "orders\n"), examples.PHYSICAL_NAME),
    "no columns": (WHOLE.replace(examples.COLUMNS.replace("\n", "\n    "), "properties: []"), examples.COLUMNS),
    "no type": (WHOLE.replace("        logicalType: integer", "        required: true"), examples.TYPE),
    "no items": (NESTED, "items: {logicalType: string}"),
    "no metric": (f"{WHOLE}\n        quality: [{{mustBe: 0}}]", examples.EXAMPLES["metric"]),
    "no operator": (f"{WHOLE}\n        quality: [{{metric: nullValues}}]", examples.OPERATOR),
    "no reference": (f"{WHOLE}\n        relationships: [{{to: customers.id}}]", examples.EXAMPLES["to"]),
    "no element": (f"{WHOLE}\nslaProperties: [{{property: latency, value: 4, unit: d}}]", examples.EXAMPLES["element"]),
    "no budget": (f"{WHOLE}\n        quality: [{{metric: nullValues, mustBe: 0, severity: quarantine}}]",
                  "customProperties:\n  - {property: quarantineBudget, vendor: lakegate, value: {percent: 1}}"),
    "no vendor": (f"{WHOLE}\n        customProperties: [{{property: severity, value: warning}}]", "vendor: lakegate"),
    "no partition": (f"{WHOLE}\n        customProperties: {PARTITION}", "partitioned: true"),
}  # fmt: skip


def faults(text: str) -> tuple[Fault, ...]:
    try:
        load(text, "c.yaml")
    except ContractFaults as error:
        return error.faults
    return ()


def test_the_example_of_a_whole_contract_loads() -> None:
    assert faults(WHOLE) == ()


@pytest.mark.parametrize("name", CASES)
def test_what_is_missing_is_told_as_the_lines_to_write(name: str) -> None:
    text, write = CASES[name]
    assert write in [fault.write for fault in faults(text)]
    assert YAML(typ="safe").load(write)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("no ") and name != "no element"])
def test_with_the_lines_that_are_told_the_contract_loads(name: str) -> None:
    text, write = CASES[name]
    wanted: Any = YAML(typ="safe").load(write)
    document: Any = YAML(typ="safe").load(text)
    column = document["schema"][0]["properties"][-1:] or [{}]
    places = [document, *document["servers"][:1], document["schema"][0], *column]
    places += [place for word in ("quality", "relationships", "customProperties") for place in column[0].get(word, [])]
    assert any(_loads_with(document, place, wanted) for place in places if isinstance(place, dict))


def _loads_with(document: Any, place: dict[str, Any], wanted: dict[str, Any]) -> bool:
    before = dict(place)
    place.update(wanted)
    out = StringIO()
    YAML(typ="safe").dump(document, out)
    place.clear()
    place.update(before)
    return not faults(out.getvalue())
