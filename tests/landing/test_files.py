"""Tests of what an uploaded object is, by its name and size alone."""

from datetime import UTC, datetime

import pytest

from lakegate.landing.files import FileVersion


def landed(key: str, size: int) -> FileVersion:
    return FileVersion(
        bucket="landing", key=key, version_id="v1", size=size, landed_at=datetime(2013, 1, 1, tzinfo=UTC)
    )


@pytest.mark.parametrize("key", ["nyc/flights/_SUCCESS", "_started", "nyc/.keep", "nyc/flights/", "a/_b/.c"])
def test_what_has_no_bytes_and_a_markers_name_is_one(key: str) -> None:
    assert landed(key, 0).is_marker
    assert not landed(key, 1).is_marker


@pytest.mark.parametrize("key", ["nyc/flights/1.parquet", "_folder/1.csv", ".folder/1", "a/b_", "a/b."])
def test_a_file_without_bytes_is_none(key: str) -> None:
    assert not landed(key, 0).is_marker
