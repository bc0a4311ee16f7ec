"""No secret of an installation is in anything that it leaves behind.

Each secret of the local cloud is like nothing else, so it is found wherever it does not belong. These tests come after
all others (conftest.py), and look through what the whole layer has left; if nothing was done yet, something is.
A database's password is none of the local cloud's, whose Nessie needs no database: tests/infra/test_catalog.py has it.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

import fastavro
import psutil
import pyarrow as pa
import pytest
from lakegate_local.person import credentials
from lakegate_local.processes import Processes
from lakegate_local.services import NESSIE_SECRET

from examples.bad_files import parquet
from tests.local.installation import Installation
from tests.local.kinds import Aws
from tests.local.leftovers import OWN_KEYS, PLACES, text
from tests.local.test_rights import walk
from tests.local.test_whole_loop import MASKED
from tests.local.tokens import beginning, sts_of_person, token

pytestmark = pytest.mark.local
WORD = "found"
CLASSIFIED = "a classified column's value"
# Tables, and logs of jobs, have values (docs/reference/reports.md).
ROWS = re.compile("-lake-|logs/applications/|logs/jobs/")
KEY, SESSION = OWN_KEYS


@pytest.fixture(scope="module")
def used(installation: Installation, aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The installation after something was done with it."""
    if not installation.json("status")["rejected"]:
        walk(installation, aws, tmp_path_factory.mktemp("contracts"))
    return installation


@pytest.fixture(scope="module")
def secrets(used: Installation) -> Mapping[str, str]:
    """Each secret, or how each of its kind begins."""
    settings, aws = used.settings, used.aws
    sessions = [credentials(settings) for _ in range(2)]
    slack = aws("secretsmanager").get_secret_value(SecretId=used.outputs["SlackSecret"])["SecretString"].split()[0]
    return {
        "Slack's token": slack,
        "a token of an identity": beginning(token(settings, sts_of_person(settings))),
        "a role's session": common(*(it[SESSION] for it in sessions)),
        "Nessie's key": NESSIE_SECRET,
        **{f"the key of {who}": key for who, key in keys(used)},
        CLASSIFIED: MASKED,
    }


def common(one: str, other: str) -> str:
    """The beginning that both have."""
    return "".join(a for a, _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))


def keys(installation: Installation) -> Iterator[tuple[str, str]]:
    """The secret keys of the person at the command line and of each function that there is now."""
    lines = installation.settings.profile.read_text().splitlines()
    yield "the person", next(it.partition("=")[2] for it in lines if it.startswith(KEY))
    server = Processes(folder=installation.settings.run).running("localstack")
    for process in psutil.Process(server.pid).children(recursive=True) if server else ():
        with suppress(psutil.Error):  # it has ended
            if key := process.environ().get(KEY):
                yield f"process {process.pid}", key


@pytest.mark.parametrize("name", PLACES)
def test_no_secret_is_left(used: Installation, secrets: Mapping[str, str], name: str) -> None:
    assert all(len(secret) > 10 for secret in secrets.values())
    place = PLACES[name]
    texts = [*place.texts(used)]
    assert any(place.says in said for _, said in texts), "nothing was read"
    assert [
        (what, where)
        for where, said in texts
        for what, secret in secrets.items()
        if secret in said and not (what == CLASSIFIED and ROWS.search(where))
    ] == []


AVRO = {"type": "record", "name": "r", "fields": [{"name": "c", "type": "string"}]}


def packed(kind: str) -> bytes:
    """A file of this kind with the word in it."""
    buffer, plain = io.BytesIO(), f"it is {WORD} here".encode()
    match kind:
        case "gzip":
            return gzip.compress(plain)
        case "parquet":
            return parquet(pa.table({"c": [plain.decode()]}))
        case "avro":
            fastavro.writer(buffer, AVRO, [{"c": plain.decode()}], codec="deflate")
        case "zip":
            with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a.txt", plain)
        case _:
            return plain
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["plain", "gzip", "zip", "parquet", "avro"])
def test_what_is_packed_is_looked_into(kind: str) -> None:
    assert WORD in text(packed(kind))
