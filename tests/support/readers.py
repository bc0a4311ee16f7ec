"""The texts of `readers` for the running Nessie."""

from __future__ import annotations

from lakegate.cli.readers.engines import ENGINES
from lakegate.cli.readers.place import Place
from lakegate.cli.readers.reading import Reading
from lakegate.ports import Ref
from tests.support.nessie import Lake


def place_of(lake: Lake, *, s3_endpoint: str = "") -> Place:
    return Place(
        nessie_uri=lake.nessie_uri,
        warehouse=lake.warehouse,
        lake_bucket=lake.bucket,
        region=lake.region,
        account="123456789012",
        s3_endpoint=s3_endpoint,
    )


def text_of(engine: str, place: Place, table: str, ref: str) -> str:
    """Return what is printed for an engine."""
    [found] = [each for each in ENGINES if each.word == engine]
    return found.text(Reading.of(place, table, Ref(ref)))
