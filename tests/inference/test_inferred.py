"""`contract init`: a made-up file has a contract that is sound and that it passes, or there is a reason."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import JobFile
from lakegate.audit.schema.fit import faults
from lakegate.audit.schema.names import fold
from lakegate.audit.schema.owners import reserved_for
from lakegate.audit.schema.types import canonical
from lakegate.contracts import Contract, load
from lakegate.express import footer
from lakegate.inference.contract import infer
from lakegate.inference.sample import NoContract
from tests.support import samples
from tests.support.samples import WRITERS, of


def inferred(body: bytes | pa.Table, name: str, form: str = "") -> Contract | str:
    """The contract of one sample file, or the reason that there is none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        if isinstance(body, bytes):
            path.write_bytes(body)
        else:
            WRITERS[form](body, path)
        try:
            text = infer([path])
        except NoContract as error:
            return str(error)
    assert text == "".join(f"{line}\n" for line in text.split("\n")[:-1])
    assert all(letter.isprintable() for line in text.split("\n") for letter in line)
    return load(text, name)


def bad_names(names: Sequence[str]) -> bool:
    controls = any(unicodedata.category(letter) in ("Cc", "Cs") for name in names for letter in name)
    return controls or "" in names or any(map(reserved_for, names)) or len(set(map(fold, names))) < len(names)


def forbids(rows: pa.Table) -> bool:
    """No table has such names or types, and a file without rows is rejected."""
    strange = any("[ns]" in str(field.type) or "time64" in str(field.type) for field in rows.schema)
    return bad_names(rows.column_names) or strange or not rows.num_rows


def judge_parquet(rows: pa.Table) -> None:
    found = inferred(rows, "some.parquet", "parquet")
    assert isinstance(found, str) == forbids(rows), found
    if isinstance(found, Contract):
        assert [column.name for column in found.plan.columns] == rows.column_names
        assert_fits_as_the_express_lane_reads_it(found, rows)


def assert_fits_as_the_express_lane_reads_it(found: Contract, rows: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    body = sink.getvalue().to_pybytes()
    try:
        seen = footer.inspect(JobFile(id="f", key="f", uri="f", size=len(body)), body, found.plan.files.limits)
    except HandedOver:
        return  # nested, or a type that only Spark knows: tests/spark has those
    assert faults(found.plan, seen.columns) == ()


def judge_orc(rows: pa.Table) -> None:
    found = inferred(rows, "some.orc", "orc")
    assert isinstance(found, str) == forbids(rows), found


def judge_avro(rows: pa.Table) -> None:
    plain = rows.rename_columns([f"c{at}" for at in range(rows.num_columns)])  # Avro has no odd names
    found = inferred(plain, "some.avro", "avro")
    assert isinstance(found, str) == (not rows.num_rows), found
    if isinstance(found, Contract):
        wanted = [canonical(column.type) for column in samples.avro_plan(plain).columns]
        assert [canonical(column.type) for column in found.plan.columns] == wanted


def judge_csv(drawn: tuple[str, list[str]]) -> None:
    text, names = drawn
    found = inferred(text.encode(), "some.csv")
    assert isinstance(found, str) == bad_names(names), found
    if isinstance(found, Contract):
        assert [column.name for column in found.plan.columns] == names


def judge_json(text: str) -> None:
    names = list(dict.fromkeys(key for line in text.splitlines() for key in json.loads(line)))
    found = inferred(text.encode(), "some.jsonl")
    assert isinstance(found, str) == bool(bad_names(names) or not names), found


Judge = Callable[[Any], None]
KINDS: Mapping[Judge, st.SearchStrategy[Any]] = {
    judge_parquet: samples.tables(strange=True),
    judge_orc: samples.tables(atoms=of(*samples.IN_ORC)),
    judge_avro: samples.tables(atoms=of(*samples.IN_AVRO), inner="y"),
    judge_csv: samples.csvs(),
    judge_json: samples.json_lines(),
}
FILES = st.one_of(*(st.tuples(st.just(judge), drawn) for judge, drawn in KINDS.items()))


def judged(file: tuple[Judge, Any]) -> None:
    judge, drawn = file
    judge(drawn)


@settings(max_examples=30)
@given(FILES)
def test_a_made_up_file_has_a_contract_that_it_passes_or_there_is_a_reason(file: tuple[Judge, Any]) -> None:
    judged(file)


@pytest.mark.extended
@settings(max_examples=200)
@given(FILES)
def test_each_of_two_hundred_files_has_a_contract_that_it_passes_or_a_reason(file: tuple[Judge, Any]) -> None:
    judged(file)


def test_a_file_without_rows_has_no_contract() -> None:
    for body, name in ((b"id,name\n", "a.csv"), (b"", "b.csv"), (b"\n", "c.jsonl"), (b"\r\n", "d.csv")):
        assert str(inferred(body, name)) == f"no contract takes {name}: it has no rows"


def test_a_text_file_may_be_compressed_and_in_another_encoding() -> None:
    text = "id;name\n1;Zoë\n2;Jürgen\n"
    found = inferred(gzip.compress(text.encode("cp1252")), "some.csv.gz")
    assert isinstance(found, Contract)
    form = found.plan.files
    assert (form.delimiter, form.encoding, form.suffix("x.csv.gz")) == (";", "windows-1252", ".csv.gz")
    assert found.route.pattern == "raw/some/*.csv.gz"
    assert "it is not compressed as its name says" in str(inferred(text.encode(), "some.csv.gz"))


def test_a_day_and_a_month_that_could_change_places_stay_text() -> None:
    found = inferred(b"id,day\n1,01/02/2013\n2,03/04/2013\n", "some.csv")
    assert isinstance(found, Contract)
    assert found.plan.columns[1].type == "string"
    found = inferred(b"id,day\n1,01/02/2013\n2,31/12/2013\n", "some.csv")
    assert isinstance(found, Contract)
    assert (found.plan.columns[1].type, found.plan.files.patterns) == ("date", {"day": "dd/MM/yyyy"})


def test_whole_numbers_that_a_double_would_round_stay_text() -> None:
    csv, json_line = b"id,n\n1,9223372036854775808\n2,1\n", b'{"n": 9223372036854775808}\n'
    for body, name in ((csv, "some.csv"), (json_line, "some.json")):
        found = inferred(body, name)
        assert isinstance(found, Contract)
        assert found.plan.columns[-1].type == "string"


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        (b"PAR1", "a.parquet", "it cannot be read as parquet"),
        (b"Obj\x01", "a.avro", "it cannot be read as Avro"),
        (b"ORC", "a.orc", "it cannot be read as ORC"),
        (b"id\n1\n", "a.parquet", "it is not parquet, as its name says"),
        (b'{"id": 1}\n[2]\n', "a.jsonl", "line 2 is not a JSON object"),
        (b'{"id": 1, "id": 2}\n', "a.jsonl", "it has a key twice"),
        (b'{"id": NaN}\n', "a.jsonl", "JSON has no NaN"),
        (b'{"id": "\\ud83d"}\n', "a.jsonl", "half of a surrogate pair"),
        ("id\n1\n".encode("utf-16"), "a.csv", "it is UTF-16"),
        (b"id,id\n1,2\n", "a.csv", 'column "id" is there 2 times'),
        (b"id,\n1,2\n", "a.csv", "column 2 has no name"),
    ],
)
def test_a_file_that_is_none_says_why(body: bytes, name: str, why: str) -> None:
    assert why in str(inferred(body, name))


@pytest.mark.parametrize(("digits", "places"), [(1, 0), (1, 1), (2, 0), (3, 2)])
def test_no_bound_is_suggested_that_every_value_of_the_type_meets(digits: int, places: int) -> None:
    values = [Decimal(value).scaleb(-places) for value in (1, 5) * 100]
    made = inferred(pa.table({"d": pa.array(values, pa.decimal128(digits, places))}), "a.parquet", "parquet")
    assert isinstance(made, Contract), made


def test_an_index_that_pandas_wrote_as_a_column_is_remarked_on(tmp_path: Path) -> None:
    path = tmp_path / "indexed.parquet"
    pq.write_table(pa.table({"n": [1, 2], "__index_level_0__": [5, 7]}), path)
    assert "an index of Pandas: write files without it by index=False" in infer([path])
