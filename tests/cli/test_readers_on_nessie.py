"""Programs in Python that `readers` prints, run as they are on a real Nessie: on main, on a branch, at a commit, and as
whoever Nessie takes them for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import boto3
import pyarrow as pa
import pytest
from pyiceberg.exceptions import RESTError

from lakegate.access import Role
from lakegate.adapters.http import door
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.cli.readers.place import Place
from lakegate.clients import ClientEntry
from lakegate.ports import MAIN, Ref
from tests.cli.desk import Desk
from tests.support.issuer import CLIENT, SCOPE, TOKENS
from tests.support.nessie import Lake, unique
from tests.support.nessie_auth import AUDIENCE, FixedToken, NessieAuth, act_as
from tests.support.readers import place_of

pytestmark = pytest.mark.nessie
FLIGHTS = pa.table({"carrier": ["UA", "AA", None], "dep_delay": pa.array([2, None, -3], pa.int32())})
IN_PYTHON = ("pyiceberg", "pandas", "duckdb")


@pytest.fixture(autouse=True)
def at_the_emulator(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process's AWS configuration is the emulator's."""
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


def make(catalog: RefCatalog) -> str:
    """A table of flights, in a namespace of its own."""
    namespace = unique("read")
    catalog.create_namespace(namespace)
    catalog.create_table(f"{namespace}.flights", schema=FLIGHTS.schema).append(FLIGHTS)
    return f"{namespace}.flights"


def add(catalog: RefCatalog, table: str, carrier: str) -> None:
    catalog.load_table(table).append(pa.table({"carrier": [carrier], "dep_delay": pa.array([500], pa.int32())}))


def branch_of(table: str) -> str:
    return f"wap-{table}-20130131T0405-1a2b3c4d-a1"


def printed(desk: Desk, *words: str) -> str:
    told = desk.run("readers", *words)
    assert told.exit_code == 0, told.stderr
    return told.stdout


def run(desk: Desk, *words: str) -> None:
    """Run what the command prints, as it is."""
    exec(compile(printed(desk, *words), "printed", "exec"), {})


@pytest.mark.parametrize("engine", IN_PYTHON)
def test_a_printed_program_reads_main_a_branch_and_a_commit(
    desk: Desk, lake: Lake, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.place = place_of(lake)
    main = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(MAIN), storage())
    table = make(main)
    before = lake.branch(branch_of(table))
    add(RefCatalog(lake.nessie_uri, lake.warehouse, Ref(branch_of(table)), storage()), table, "on the branch")
    add(main, table, "later")
    found = []
    for words in (["--table", table], ["--ref", branch_of(table)], ["--table", table, "--ref", f"{MAIN}@{before}"]):
        run(desk, "--engine", engine, *words)
        rows = capsys.readouterr().out
        found.append([name for name in ("UA", "later", "on the branch") if name in rows])
    assert found == [["UA", "later"], ["UA", "on the branch"], ["UA"]]


@pytest.mark.parametrize("engine", ["polars", *IN_PYTHON])
@pytest.mark.share(1)  # of the shell the gate asks once: what each engine reads is the test before
def test_a_program_reads_in_a_plain_shell_what_was_found_by_a_file_of_variables(
    desk: Desk, lake: Lake, engine: str, tmp_path: Path
) -> None:
    table = make(RefCatalog(lake.nessie_uri, lake.warehouse, Ref(MAIN), storage()))
    file = tmp_path / "it's a profile.env"
    file.write_text("# Written by a test\n" + "".join(f"{name}={it}\n" for name, it in lake.environment.items()))
    desk.place = replace(place_of(lake), variables=str(file))
    text = printed(desk, "--engine", engine, "--table", table)
    assert "SECRET" not in text
    plain = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-"], input=text, env=plain, capture_output=True, text=True, check=False)
    assert "UA" in done.stdout, done.stderr


def as_role(guarded: NessieAuth, role: Role, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place of an installation that knows roles of IAM, for a process that has this role."""
    act_as(role, guarded, monkeypatch)
    return replace(place_of(guarded.lake), audience=AUDIENCE)


def as_client(guarded: NessieAuth, role: Role, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place of an installation that knows clients of an issuer, for a process that has the secret of this one."""
    own = CLIENT.format(role)
    monkeypatch.setenv("LAKEGATE_CREDENTIAL", f"{own}:{guarded.issuer.passwords[role]}")
    listed = (ClientEntry(role=role, id=own),)
    place = place_of(guarded.lake)
    return replace(place, token_endpoint=guarded.issuer.uri + TOKENS, token_scope=SCOPE, clients=listed)


@pytest.mark.parametrize("become", [as_role, as_client])
def test_a_printed_program_reads_as_the_role_that_it_names_and_no_more(
    desk: Desk,
    guarded: NessieAuth,
    monkeypatch: pytest.MonkeyPatch,
    become: Callable[[NessieAuth, Role, pytest.MonkeyPatch], Place],
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = make(of(guarded, Role.PUBLISH, MAIN))
    branch = branch_of(table)
    branches = guarded.catalog(Role.INGEST)
    branches.create_branch(branch, branches.head(MAIN) or "")
    add(of(guarded, Role.SPARK, branch), table, "on the branch")
    desk.place = become(guarded, Role.READER, monkeypatch)
    run(desk, "--engine", "pyiceberg", "--table", table)
    assert "UA" in capsys.readouterr().out
    with pytest.raises(RESTError):
        run(desk, "--engine", "pyiceberg", "--ref", branch)
    desk.place = become(guarded, Role.OBSERVER, monkeypatch)
    run(desk, "--engine", "pyiceberg", "--ref", branch)
    assert "on the branch" in capsys.readouterr().out


def of(guarded: NessieAuth, role: Role, ref: str) -> RefCatalog:
    uri = guarded.lake.nessie_uri
    http = door(uri, FixedToken(guarded.token(role)))
    return RefCatalog(uri, guarded.lake.warehouse, Ref(ref), storage(), http=http)
