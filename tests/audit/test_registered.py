"""Reports of files whose contract asks to register files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.lane import Lane
from lakegate.audit.run import Run, _file_report
from lakegate.audit.schema.inspection import EMPTY, Inspection
from tests.support.jobs import job

FILE = JobFile(id="f" * 20, key="1.parquet", uri="s3://service/staging/1", size=1)
ITS = {FILE.id: [DataFileStatistics(path="s3://lake/1.parquet", rows=2)]}
BY_SPARK = "Spark audited the batch, and only the express lane registers files"


@pytest.mark.parametrize(
    ("registers", "lane", "found", "quarantined", "says"),
    [
        (True, Lane.EXPRESS, {"registered": True}, {}, (True, "")),
        (True, Lane.EXPRESS, {"unregistered": "why"}, {}, (False, "why")),
        (True, Lane.EXPRESS, {"registered": True}, ITS, (False, "rows of it went to quarantine")),
        (True, Lane.SPARK, {}, {}, (False, BY_SPARK)),
        (False, Lane.SPARK, {}, {}, (False, "")),
    ],
)
def test_a_file_is_registered_or_it_is_said_why_not(
    *, registers: bool, lane: Lane, found: dict[str, Any], quarantined: Any, says: tuple[bool, str]
) -> None:
    run = Run(job=replace(job(FILE), registers=registers, lane=lane), engine=cast(Any, None))
    run.files, run.quarantined = ITS, quarantined
    told = _file_report(run, Inspection(file=FILE, **found))
    assert (told.registered, told.unregistered) == says


def test_nothing_is_said_of_a_file_that_has_no_rows_in_the_table() -> None:
    run = Run(job=replace(job(FILE), registers=True), engine=cast(Any, None))
    told = _file_report(run, Inspection(file=FILE, faults=(EMPTY,)))
    assert (told.registered, told.unregistered) == (False, "")
