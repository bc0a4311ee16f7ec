"""A lake on a real Nessie and an emulated S3 is cleaned: what is needed can be read, and nothing else is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate import bootstrap
from lakegate.adapters.warehouse import S3Warehouse
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Ref
from lakegate.testing import MemoryClock
from lakegate.workflow.cleaning.clean import Cleaned, clean
from lakegate.workflow.service import Service
from tests.flow.conftest import settings
from tests.ports.conftest import NessiePlace, Work, head_of, landed, main
from tests.support.nessie import Lake, running

pytestmark = pytest.mark.nessie

TABLE = "nyc.flights"
WEEK = timedelta(days=7).total_seconds()


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[NessiePlace]:
    """A Nessie of its own, because all of its tables are cleaned."""
    with running(tmp_path_factory.mktemp("cleaned")) as lake:
        for name, value in lake.environment.items():
            monkeypatch.setenv(name, value)
        yield NessiePlace(lake)


class Cleaner:
    """Whoever runs `lakegate clean`, some time after all was written."""

    def __init__(self, lake: Lake) -> None:
        self.clock = MemoryClock(datetime.now(UTC) + timedelta(days=40))
        self.service: Service = replace(bootstrap.service(settings(lake, "landing")), clock=self.clock)

    def clean(self) -> Cleaned:
        self.clock.advance(WEEK)
        return clean(self.service, S3Warehouse(), days=30, delete=True)


def published(place: NessiePlace, number: int) -> str:
    """The data file of an attempt that is on main, and whose branch is gone."""
    work = Work(place, TABLE, [landed()], number=number)
    work.claim()
    path = place.write(work.branch, TABLE, 2**number)
    work.merge()
    place.catalog.delete_branch(work.branch)
    return path


def there(place: NessiePlace) -> set[str]:
    listed = place.lake.s3().list_objects_v2(Bucket=place.lake.bucket, Prefix="warehouse/")["Contents"]
    return {f"s3://{place.lake.bucket}/{found['Key']}" for found in listed}


def reached(place: NessiePlace, commit: str, since: str = "") -> set[str]:
    files = place.catalog.metadata_files(commit, since or commit)
    return set(place.tables.reached([file.uri for file in files], ()))


def test_a_kept_branch_is_published_after_its_lake_was_cleaned_and_then_nothing_unneeded_is_left(
    place: NessiePlace,
) -> None:
    cleaner = Cleaner(place.lake)
    first = published(place, 1)
    kept = Work(place, TABLE, [landed()], number=2)
    kept.claim()
    added = place.write(kept.branch, TABLE, 2)
    audited = head_of(place, kept.branch)
    place.tables.remove(TABLE, kept.branch, frozenset({added}))  # as pruning does
    published(place, 3)
    place.rewrite(MAIN, TABLE)
    orphan = f"{first.rpartition('/data/')[0]}/data/half-written.parquet"
    place.lake.s3().put_object(Bucket=place.lake.bucket, Key=orphan.removeprefix("s3://lake/"), Body=b"half")
    before = there(place)

    cleaner.clean()
    assert there(place) == before
    [folder] = cleaner.clean().folders
    assert folder.unneeded.files == len(before - there(place)) > 0
    assert orphan not in there(place)
    assert there(place) == reached(place, main(place)) | reached(place, head_of(place, kept.branch), kept.base)

    own = Attempt(table=TABLE, batch=kept.attempt.batch, number=2, nonce="0").branch
    place.catalog.create_branch(own, main(place))
    place.tables.append(TABLE, own, Ref(kept.branch, audited), frozenset({added}))
    rows = place.rows(own, TABLE)
    place.catalog.delete_branch(kept.branch)
    place.catalog.delete_branch(own)
    assert rows == 2 + 2 + 8 - 1
    cleaner.clean()
    cleaner.clean()
    assert there(place) == reached(place, main(place))
    assert place.rows(MAIN, TABLE) == 2 + 8 - 1
