"""Tests of what a job run is billed for, as EMR Serverless reckons it."""

import pytest
from lakegate_localstack.billing import billed

OURS = {
    "spark.driver.cores": "2",
    "spark.driver.memory": "7g",
    "spark.emr-serverless.driver.disk": "50G",
    "spark.executor.cores": "2",
    "spark.executor.memory": "7g",
    "spark.emr-serverless.executor.disk": "100G",
    "spark.executor.instances": "1",
}


@pytest.mark.parametrize(("seconds", "hours"), [(3600, 1.0), (60, 1 / 60), (2, 1 / 60)])
def test_two_workers_are_billed_for_a_minute_at_least(seconds: float, hours: float) -> None:
    assert billed(OURS, seconds) == {
        "vCPUHour": round(4 * hours, 3),
        "memoryGBHour": round(16 * hours, 3),
        "storageGBHour": round(110 * hours, 3),
    }


def test_a_run_that_names_no_sizes_has_emrs_own_four_workers() -> None:
    assert billed({}, 3600) == {"vCPUHour": 16, "memoryGBHour": 64, "storageGBHour": 0}
