"""Tests of what a contract says of how files are written, as the plan has it."""

from __future__ import annotations

import re

import pytest

from lakegate.audit.model.files import PARQUET, FileFormat, FileKind
from lakegate.audit.model.limits import Limits
from lakegate.audit.model.plan import MetricKind, Operator, Plan, Severity
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from tests.contracts.test_faults import GOOD
from tests.support.vocabulary import DOCS

SETTINGS = """format: csv
    delimiter: ";"
    encoding: latin1
    customProperties:
      - {property: header, vendor: lakegate, value: false}
      - {property: quote, vendor: lakegate, value: "'"}
      - {property: nullValues, vendor: lakegate, value: ["", NA]}
      - {property: multiLine, vendor: lakegate, value: true}
      - {property: compression, vendor: lakegate, value: gzip}
      - {property: timestampFormat, vendor: lakegate, value: dd/MM/yyyy HH:mm}
      - {property: header, vendor: other, value: [1]}"""


def planned(written: str, old: str = "x", new: str = "x") -> Plan:
    return load(GOOD.replace("format: parquet", written).replace(old, new), "orders.yaml").plan


def test_every_setting_reaches_the_plan() -> None:
    assert planned(SETTINGS).files == FileFormat(
        kind=FileKind.CSV,
        header=False,
        delimiter=";",
        quote="'",
        escape="'",
        nulls=("", "NA"),
        multiline=True,
        encoding="ISO-8859-1",
        compression="gzip",
        patterns={"placed": "dd/MM/yyyy HH:mm"},
    )


def test_a_column_spells_its_dates_its_own_way() -> None:
    typed = "logicalType: timestamp\n"
    own = f"{typed}        logicalTypeOptions: {{format: yyyyMMddHHmm}}\n"
    assert planned(SETTINGS, typed, own).files.patterns == {"placed": "yyyyMMddHHmm"}
    assert planned("format: parquet", typed, own).files == PARQUET


HASH = "945871e04a2f3e55c9c21c87ee27220f481fcc43f997436fec1c7fe00a6e9f82"
OWN_NULLS = "        customProperties: [{{property: nullValues, vendor: lakegate, value: {}}}]\n"


@pytest.mark.parametrize(
    ("said", "own"), [("[]", ()), ('[""]', ("",)), ('["NA", "", "NA"]', ("NA", "")), ("[n/a, '-']", ("n/a", "-"))]
)
def test_a_column_has_its_own_texts_of_null_in_place_of_the_file_s(said: str, own: tuple[str, ...]) -> None:
    typed = "logicalType: string\n"
    form = planned(SETTINGS, typed, typed + OWN_NULLS.format(said)).files
    assert (form.column_nulls, form.nulls_of("state")) == ({"state": own}, own)
    assert form.nulls_of("placed") == form.nulls == ("", "NA")


@pytest.mark.parametrize("said", ["NA", "[NA, 1]", "null", "{NA: true}"])
def test_a_column_s_own_texts_of_null_are_a_list_of_texts(said: str) -> None:
    typed = "logicalType: string\n"
    with pytest.raises(Misconfigured, match="is not a list of texts"):
        planned(SETTINGS, typed, typed + OWN_NULLS.format(said))


def test_columns_without_texts_of_their_own_leave_the_contract_what_it_was() -> None:
    """The hash that the contract had before columns could have their own."""
    assert planned(SETTINGS).contract_hash == HASH
    typed = "logicalType: string\n"
    assert planned(SETTINGS, typed, typed + OWN_NULLS.format("[NA]")).contract_hash != HASH


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_text_has_the_check_that_every_row_parses(kind: str) -> None:
    by = planned(f"format: {kind}")
    [check] = [check for check in by.checks if by.metric(check.metric).kind is MetricKind.MALFORMED]
    assert (check.operator, check.threshold, check.severity) == (Operator.MUST_BE, (0,), Severity.ERROR)
    assert check.line == GOOD[: GOOD.index("format: parquet")].count("\n") + 1


def test_parquet_has_no_such_check() -> None:
    assert MetricKind.MALFORMED not in {metric.kind for metric in planned("format: parquet").metrics}


def test_binary_cannot_be_read_from_text() -> None:
    text = GOOD.replace("format: parquet", "format: csv").replace("logicalType: timestamp", "physicalType: binary")
    with pytest.raises(Exception, match="a column of type binary cannot be read from csv files"):
        load(text.replace("value: days", "value: identity"), "orders.yaml")


def test_limits_reach_the_plan_and_leave_the_contract_what_it_is() -> None:
    said = """format: parquet
    customProperties:
      - {property: maxRowGroups, vendor: lakegate, value: 20}
      - {property: maxBytes, vendor: lakegate, value: 1000000}"""
    assert planned(said).files.limits == Limits(row_groups=20, bytes=1_000_000)
    assert planned(said).contract_hash == planned("format: parquet").contract_hash


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dateFormat, vendor: lakegate, value: MM/dd/yyyy", "dateFormat, vendor: lakegate, value: dd/MM/yyyy"),
        ('nullValues, vendor: lakegate, value: [""]', 'nullValues, vendor: lakegate, value: ["", "NA"]'),
        ("header, vendor: lakegate, value: true", "header, vendor: lakegate, value: false"),
    ],
)
def test_what_is_read_otherwise_is_another_contract(before: str, after: str) -> None:
    """Else rows that were parsed by the contract of before would be published, or approved, by the one of now."""
    column = ("logicalType: timestamp\n", "logicalType: date\n")
    said = "format: csv\n    customProperties: [{{property: {}}}]"
    one, other = (planned(said.format(each), *column) for each in (before, after))
    assert one.files != other.files
    assert one.contract_hash != other.contract_hash


def test_the_page_s_formats_load() -> None:
    pages = [DOCS / f"how-to/{name}.md" for name in ("text-files", "raise-a-limit")]
    read = "".join(page.read_text() for page in pages)
    servers = re.findall(r"```yaml\nservers:\n  - server: landing\n(.*?)```", read, re.DOTALL)
    assert len(servers) == 3
    for server in servers:
        start, end = GOOD.index("  - server: landing"), GOOD.index("schema:")
        text = f"{GOOD[:start]}  - server: landing\n{server}{GOOD[end:]}"
        assert load(text, "text-files.md").plan.files != PARQUET
