"""`readers`: what it prints for each engine, and that no name breaks out of a text. None of them is run here."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import sqlglot
from botocore.validate import validate_parameters

from lakegate.access import Role
from lakegate.cli.readers.engines import ENGINES, Engine
from lakegate.cli.readers.place import Place
from lakegate.cli.readers.reading import Reading
from lakegate.cli.terminal import clean
from lakegate.clients import ClientEntry
from lakegate.ports import MAIN, Ref
from lakegate.settings import Settings
from tests.cli.desk import PLACE, Desk
from tests.support.outputs import OUTPUTS

ROOT = Path(__file__).resolve().parents[2]
BY_STS = replace(PLACE, audience="lakegate", read_policy="arn:aws:iam::123456789012:policy/read-lake")
BY_CLIENT = replace(
    PLACE,
    token_endpoint="https://issuer.example.com/token",
    token_scope="catalog/read",
    clients=(
        ClientEntry(role=Role.OBSERVER, id="watcher", secret="lakegate/oidc/observer"),
        ClientEntry(role=Role.READER, id="bi-tool"),
    ),
)
SQL = {"snowflake": "snowflake", "duckdb-sql": "duckdb"}
HOSTILE = (
    "'; DROP TABLE x; --",
    "\\'; DROP TABLE x; --",
    '"; import os; "',
    "'''",
    '"""',
    "\\",
    "$(touch x)",
    "`touch x`",
    "x\nDROP TABLE y",
    "x\r\nimport os",
    "\u2028import os",
    "\u202ereversed",
    "${ENV:HOME}",
    "#",
    "*/",
    "\x00",
    "é",
    "😀",
)


def reading(place: Place = PLACE, table: str = "nyc.flights", ref: str = MAIN) -> Reading:
    return Reading.of(place, table, Ref.parse(ref))


def every(engine: str) -> Engine:
    return next(each for each in ENGINES if each.word == engine)


def test_all_engines_are_printed_with_what_nobody_has_run(desk: Desk) -> None:
    told = desk.run("readers", "--table", "nyc.flights").stdout
    for engine in ENGINES:
        assert f"{engine.comment} {engine.name}: nyc.flights on main, at https://nessie.example.com." in told
    assert told.count("Nobody has run this text") == sum(not engine.remark for engine in ENGINES)


def test_one_engine_s_output_is_its_text_and_nothing_else(desk: Desk) -> None:
    told = desk.run("readers", "--engine", "pyiceberg", "--table", "nyc.flights").stdout
    assert told == every("pyiceberg").text(reading()) + "\n"


def test_json_has_each_text_with_what_it_is(desk: Desk) -> None:
    [found] = desk.json("readers", "--engine", "trino", "--table", "nyc.flights")
    assert found.pop("text") == every("trino").text(reading())
    assert found == {
        "engine": "trino",
        "table": "nyc.flights",
        "ref": "main",
        "tried": False,
        "page": "docs/readers/trino.md",
    }


def test_the_table_is_the_branch_s_or_the_first_that_has_a_contract(desk: Desk) -> None:
    desk.rejected()
    [branch] = desk.world.branches()
    assert desk.json("readers", "--ref", branch)[0]["table"] == "nyc.flights"
    desk.run("contract", "push", desk.contract("nyc.airports", "nyc/airports/*.parquet"))
    assert desk.json("readers")[0]["table"] == "nyc.airports"


def test_a_branch_is_part_of_the_address(desk: Desk) -> None:
    [found] = desk.json("readers", "--engine", "spark", "--ref", "wap-nyc.flights-20130131T0405-1a2b3c4d-a1")
    assert "https://nessie.example.com/iceberg/wap-nyc.flights-20130131T0405-1a2b3c4d-a1" in found["text"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--engine", "excel"], "there is no text for excel; there are: pyiceberg, pandas"),
        (["--engine", "athena", "--ref", "wap-x"], "athena reads main alone, and not wap-x; these can: pyiceberg"),
        (["--table", "flights"], "flights: a table is addressed as namespace.table"),
        (["--ref", "@0a"], "@0a: name the branch, too"),
    ],
)
def test_what_cannot_be_printed_says_what_can(desk: Desk, words: list[str], says: str) -> None:
    told = desk.run("readers", "--table", "nyc.flights", *words)
    assert told.exit_code == 2
    assert says in told.stderr


def test_an_engine_that_reads_main_alone_is_left_out_for_a_branch(desk: Desk) -> None:
    found = {each["engine"] for each in desk.json("readers", "--table", "nyc.flights", "--ref", "wap-x")}
    assert found == {engine.word for engine in ENGINES if engine.reads_branches}


def test_a_place_is_what_the_outputs_say() -> None:
    outputs = OUTPUTS | {"TokenEndpoint": "https://i/token", "TokenClients": "reader=trino", "NessieCa": "PEM"}
    place = Place.of(Settings.from_outputs(outputs), read_policy="arn:x", region="eu-central-1")
    assert (place.nessie_uri, place.location, place.account) == (
        "https://nessie.example.com",
        "s3://lake/warehouse",
        "123456789012",
    )
    assert (place.client(Role.READER).id, place.client(Role.OBSERVER).id) == ("trino", "client-of-observer")
    assert place.has_own_authority


@pytest.mark.parametrize(
    ("table", "ref", "role"),
    [
        ("nyc.flights", MAIN, Role.READER),
        ("nyc.flights", f"{MAIN}@0a", Role.READER),
        ("nyc.flights", "wap-x", Role.OBSERVER),
        ("_quarantine.nyc_flights", MAIN, Role.OBSERVER),
        ("_audits.nyc_flights", MAIN, Role.READER),
    ],
)
def test_a_text_asks_for_the_least_role_that_may_read(table: str, ref: str, role: Role) -> None:
    assert f"lakegate={role}" in every("pyiceberg").text(reading(BY_STS, table, ref))


@pytest.mark.parametrize("place", [BY_STS, BY_CLIENT], ids=["roles", "clients"])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.word)
def test_each_text_shows_an_identity_where_nessie_asks_for_one(engine: Engine, place: Place) -> None:
    text = engine.text(reading(place))
    assert ("bi-tool" if place is BY_CLIENT else "lakegate=reader") in text
    assert text != engine.text(reading(PLACE))


def test_no_text_has_a_secret_but_the_command_that_prints_it() -> None:
    text = every("pyiceberg").text(reading(BY_CLIENT, ref="wap-x"))
    asks = "aws secretsmanager get-secret-value --secret-id lakegate/oidc/observer"
    assert f'export LAKEGATE_CREDENTIAL="watcher:$({asks} --query SecretString --output text)"' in text


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.word)
def test_no_name_breaks_out_of_a_text(engine: Engine) -> None:
    benign = shape(engine, reading(BY_CLIENT, "n.t", "b"))
    for name in HOSTILE:
        uris = replace(BY_CLIENT, nessie_uri=f"https://{name}", token_endpoint=f"https://{name}", token_scope=name)
        place = replace(uris, warehouse=name, region=name, lake_bucket=name, read_policy=name)
        assert shape(engine, reading(place, f"{name}.{name}", f"b{name}")) == benign, name


def shape(engine: Engine, it: Reading) -> object:
    """Return what a text is to its language, whatever the literals and names in it."""
    text = "\n".join(map(clean, engine.text(it).split("\n")))  # as it is printed
    if engine.word in SQL:
        return [token.token_type for token in sqlglot.tokenize(text, read=SQL[engine.word])]
    if text.rstrip().endswith(")"):
        return python_shape(text)
    if "\naws " in text or "\ncurl " in text:
        return [(len(words), words[0], [word for word in words if word.startswith("--")]) for words in calls(text)]
    return [line.partition("=")[0] for line in text.split("\n") if not line.startswith("#")]


def python_shape(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def calls(text: str) -> list[list[str]]:
    """The programs that a shell starts for a text, each with its arguments."""
    tell = "".join(f"{name}() {{ printf '%s\\0' {name} \"$@\"; printf '\\n\\0'; }}\n" for name in ("aws", "curl"))
    done = subprocess.run(["/bin/bash", "-c", f"{tell}\n{text}"], check=True, capture_output=True, env={"PATH": ""})
    assert done.stderr == b""
    return [call.split("\0")[:-1] for call in done.stdout.decode().split("\n\0") if call]


def test_the_commands_for_glue_are_of_the_shapes_that_aws_knows() -> None:
    session = botocore.session.get_session()
    found = list(commands(every("athena").text(reading(BY_CLIENT))))
    assert [(service, name) for service, name, _ in found] == [
        ("glue", "CreateConnection"),
        ("lakeformation", "RegisterResource"),
        ("glue", "CreateCatalog"),
    ]
    for service, name, given in found:
        known = session.get_service_model(service).operation_model(name).input_shape
        assert known
        validate_parameters(given, known)


def commands(text: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The calls of AWS that a text's commands make."""
    for _, service, verb, *options in calls(text):
        given: dict[str, Any] = {}
        for option, value in zip(options, [*options[1:], "--"], strict=True):
            if option.startswith("--") and option != "--region":
                given[camel(option[2:])] = True if value.startswith("--") else spoken(value)
        yield service, camel(verb), given


def camel(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("-"))


def spoken(value: str) -> Any:
    return json.loads(value) if value.startswith("{") else value


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.word)
def test_each_engine_s_page_says_as_its_text_does_whether_anybody_has_run_it(engine: Engine) -> None:
    page = (ROOT / engine.page).read_text()
    assert f"readers --engine {engine.word}" in page or f"--engine {engine.word}" in page
    assert bool(engine.remark) == ("Nobody has run" not in page)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.word)
def test_each_text_takes_a_file_of_variables_if_the_installation_was_found_by_one(engine: Engine) -> None:
    path = "/srv/it's here/.lakegate.env"
    text, plain = engine.text(reading(replace(PLACE, variables=path))), engine.text(reading())
    assert ("open(" in text, "set -a; . " in text) == (engine.is_python, not engine.is_python)
    assert "environ" not in plain
    assert "set -a" not in plain
    if engine.is_python:
        assert path in [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
