"""Failing rows for the report: from all of a file, but of keys that repeat key by key."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from lakegate.audit.model.plan import Metric
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.samples import with_samples
from tests.support.plans import duplicates, failing, none_of, plan

ROWS = pa.table({"id": [at % 200 for at in range(400)][::-1]})


@pytest.fixture
def duck() -> Iterator[DuckDB]:
    opened = DuckDB(Limits())
    yield opened
    opened.close()


def shown(duck: DuckDB, metric: Metric) -> list[int]:
    check = none_of(metric)
    failed = CheckResult(
        check=check.id, name=check.name, columns=metric.columns, severity=check.severity, verdict=Verdict.FAIL,
        value=400, expected="0", failing_rows=400, rows=400, source=Source.AGGREGATE, metric=metric.id,
    )  # fmt: skip
    by = plan("random.t", {"id": "bigint"}, [metric])
    [result] = with_samples(by, {"f1": (failed,)}, lambda _: ROWS, duck)["f1"]
    return [row["id"] for row in result.sample]


def test_rows_of_repeated_keys_are_shown_together(duck: DuckDB) -> None:
    assert shown(duck, duplicates("id"))[:4] == [0, 0, 1, 1]


def test_rows_that_fail_by_themselves_are_shown_from_all_of_the_file(duck: DuckDB) -> None:
    rows = shown(duck, failing("id", "COALESCE(`id` >= 0, FALSE)"))
    assert len(rows) < ROWS.num_rows
    assert (rows[0], rows[len(rows) // 2]) == (199, 199)  # the file's second half begins again
