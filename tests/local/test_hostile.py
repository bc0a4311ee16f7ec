"""The worst of each kind of hostile name, file and contract, at once on the local cloud: a good file of another table
that is dropped beside them reaches main, and what is wrong with each is told.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from examples.bad_files import parquet
from tests.hostile import contracts
from tests.hostile.files import object_of, rows_of_nothing
from tests.local.installation import REJECTED, Installation
from tests.local.things import CONTRACT, Things, rows

pytestmark = [pytest.mark.local, pytest.mark.extended]
ROWS, DIGITS = 4_000, 250
SLOW = r"\d.*\d.*x"  # is asked of texts up to 250 characters, and one of digits takes the most tries
STORED = {  # straight into the store, by nobody's command
    "contracts/shop.groups.yaml": contracts.of_pattern("(" * 98 + "a" + ")?" * 98),
    "contracts/shop.number.yaml": contracts.contract(
        "      - {name: x, logicalType: number, logicalTypeOptions: {minimum: 1.0e-99999999999999999999}}\n"
    ),
    "contracts/shop.options.yaml": contracts.of_pattern("a?" * 5_000),
    "contracts/shop.quotes.yaml": contracts.of_query("\\'" * 120_000),
    "contracts/no table at all": "\0",
}


def contract(things: Things, kind: str, form: str, *, ending: str = "**", pattern: str = "") -> str:
    """Of a table of its own beside the test's, for files of this format."""
    table, prefix = f"{things.table}_{kind}", f"{things.prefix}_{kind}"
    text = CONTRACT.format(table=table, prefix=prefix)
    text = text.replace(f"{prefix}/**", f"{prefix}/{ending}").replace("format: parquet", f"format: {form}")
    options = f"\n        logicalTypeOptions: {{pattern: '{pattern}'}}" if pattern else ""
    return text.replace("logicalType: string", f"logicalType: string{options}")


def digits() -> bytes:
    names = pa.array(["1" * DIGITS] * ROWS)
    return parquet(rows(0, ROWS).set_column(1, "name", names))


def test_the_worst_of_each_kind_holds_up_no_good_file_of_another_table(
    installation: Installation, things: Things, tmp_path: Path
) -> None:
    pushed = {
        "wild": contract(things, "wild", "parquet", ending="*_*_*_*.parquet"),
        "avro": contract(things, "avro", "avro"),
        "json": contract(things, "json", "json"),
        "slow": contract(things, "slow", "parquet", pattern=SLOW),
    }
    for kind, text in pushed.items():
        (tmp_path / f"{kind}.yaml").write_text(text)
        installation.run("contract", "push", tmp_path / f"{kind}.yaml")
    for name, text in STORED.items():
        installation.aws("s3").put_object(Bucket=installation.outputs["ServiceBucket"], Key=name, Body=text.encode())
    try:
        _drop_all(installation, things)
    finally:
        for name in STORED:
            installation.aws("s3").delete_object(Bucket=installation.outputs["ServiceBucket"], Key=name)


def _drop_all(installation: Installation, things: Things) -> None:
    wild = f"{things.prefix}_wild/{'_' * 900}"
    bad = {
        f"{things.prefix}_avro/nothing.avro": rows_of_nothing(10**8),
        f"{things.prefix}_json/keys.json": object_of(20_000),
        f"{things.prefix}_slow/digits.parquet": digits(),
    }
    installation.put(wild, b"x")
    for key, body in bad.items():
        installation.put(key, body)
    good = f"{things.prefix}/good.parquet"
    installation.put(good, parquet(rows(0, 10)))
    installation.wait(good)
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]

    installation.wait(*bad, code=REJECTED)
    found = installation.rejected(things.prefix)
    assert set(found) == set(bad)
    words = {"nothing.avro": "rows", "keys.json": "columns", "digits.parquet": "name"}
    for key, reason in found.items():
        assert words[Path(key).name] in reason
    assert wild in str(installation.json("status")["unrouted"])
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]
