"""A shell for the commands of the documentation: lakegate's run on an installation in memory, and of others it is asked
whether there is such a command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import botocore.session
import pyarrow as pa
import sqlglot
from botocore import xform_name
from sqlglot import expressions

from tests.cli.desk import Desk, crashed
from tests.support.commands import commands
from tests.support.pages import ROOT

TABLE = "shop.orders"
# Tests of their own run these: they need AWS, the local cloud, or its stand-ins.
ELSEWHERE = {
    "dashboard": "tests/dashboard",
    "deploy": "tests/cli/test_deploy.py",
    "doctor": "tests/local/test_doctor.py",
}
ELSEWHERE |= {"local": "tests/local", "hold": "tests/cli/test_deploy.py", "package": "tests/infra/test_package.py"}
HIGH_LEVEL = {"s3": {"cp", "sync", "ls"}}  # of the AWS command's own, which no model has
OF_AWS = {"region", "profile", "output", "query"}
TOOLS = {"export", "head", "jq", "tail", "xargs", "."}  # what any shell has, or as good as that
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop-orders
version: 1.0.0
status: active
servers: [{server: landing, type: s3, location: "s3://landing/shop/orders/*", format: parquet}]
schema:
  - name: orders
    physicalName: shop.orders
    properties: [{name: id, logicalType: integer}]
"""
ROWS = 100


def segments(command: str) -> list[str]:
    """Return the commands of a line that pipes, `&&` and `;` join. What stands in quotes is not looked at."""
    parts = re.findall(r"""(?:[^"'|;&]|"[^"]*"|'[^']*')+""", command)
    return [part.strip() for part in parts if part.strip()]


@dataclass(kw_only=True)
class Shell:
    """See the module. `contract` is what a contract's file holds before a command writes or reads it."""

    desk: Desk
    contract: str = CONTRACT

    def prepare(self) -> None:
        """Push the contract, as whoever comes to a page has done."""
        self.run("lakegate contract push orders.yaml")
        (self.desk.folder / "orders.yaml").unlink()

    def run(self, line: str, ends: int = 0) -> None:
        for segment in segments(line):
            self._program(segment)(segment, ends)

    def _program(self, segment: str) -> Callable[[str, int], None]:
        name = segment.split(maxsplit=1)[0].removeprefix(".venv/bin/")
        others: dict[str, Callable[[str, int], None]] = {"lakegate": self._lakegate, "make": made, "aws": asked_of_aws}
        if name not in others and name not in TOOLS:
            raise AssertionError(f"{segment}: no test knows {name}; run it, or say why not: <!-- not run: REASON -->")
        return others.get(name, lambda _segment, _ends: None)

    def _lakegate(self, segment: str, ends: int) -> None:
        words = list(self._filled(shlex.split(re.sub(r" >\s*\S+$", "", segment))[1:]))
        parsed(words)
        if words[0] not in ELSEWHERE:
            done = self.desk.run(*words)
            assert done.exit_code == ends, f"lakegate {' '.join(words)}: {done.output}"
            self.desk.work()

    def _filled(self, words: list[str]) -> Iterator[str]:
        """Yield the words with files that are there, and the ids that this installation has in the place of BATCH."""
        for at, word in enumerate(words):
            if word == "BATCH":
                yield self._batch
            elif word.startswith("$("):
                yield self._crashed
            elif word == "…":
                yield "a reason"
            elif re.fullmatch(r"[\w./*-]+\.(yaml|toml|parquet|csv|html)", word):
                yield str(self._file(word, is_new=words[at - 1] in ("--output", "--html")))
            elif words[0] == "query" and at == 1:
                self._tables(word)
                yield word
            else:
                yield word

    @property
    def _batch(self) -> str:
        rejected = self.desk.json("status")["rejected"]
        return str(rejected[0]["batch"]) if rejected else self.desk.rejected(f"{len(self.desk.delivered)}.parquet")

    @cached_property
    def _crashed(self) -> str:
        """The batch that a command within the command finds: one whose job crashed."""
        return crashed(self.desk, "1")

    def _file(self, name: str, *, is_new: bool) -> Path:
        path = self.desk.folder / Path(name.replace("*", "any")).name
        if not is_new and not path.exists():
            path.write_text(self.contract if path.suffix == ".yaml" else _rows())
        return path

    def _tables(self, sql: str) -> None:
        """Make the tables that a query names, with the columns that it names, without rows."""
        query = sqlglot.parse_one(sql, dialect="duckdb")
        columns = {column.name: pa.array([], pa.string()) for column in query.find_all(expressions.Column)}
        for table in query.find_all(expressions.Table):
            self.desk.rows.held["main", f"{table.db}.{table.name}"] = pa.table(columns or {"a": [1]})


def _rows() -> str:
    """Return a file of orders, as comma-separated text."""
    return "".join(["order_id,state\n", *(f"{at},{'open' if at % 2 else 'sent'}\n" for at in range(ROWS))])


@cache
def known() -> dict[str, Any]:
    return dict(commands())


def parsed(words: list[str]) -> None:
    """Have a command of lakegate's, with options that it has, without running it."""
    depth = next((depth for depth in (2, 3) if " ".join(["lakegate", *words[: depth - 1]]) in known()), 0)
    assert depth, f"there is no command {' '.join(words[:2])}"
    command = known()[" ".join(["lakegate", *words[: depth - 1]])]
    options = {name for param in command.params for name in [*param.opts, *param.secondary_opts]}
    own = words[: words.index("--")] if "--" in words else words
    unknown = [word for word in own if word.startswith("--") and word.partition("=")[0] not in options]
    assert unknown == [], f"{command.name} has no {unknown}"


def made(segment: str, _: int = 0) -> None:
    """Have a target of the Makefile."""
    target = next(word for word in segment.split()[1:] if "=" not in word)
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"no target {target}"


def asked_of_aws(segment: str, _: int = 0) -> None:
    """Have an operation of AWS, with members that it has, by the models of its own client."""
    plain = re.sub(r"""\$\([^)]*\)|'[^']*'|"[^"]*\"""", "x", segment)
    words = plain.split()[1:]
    service, operation, rest = words[0], words[1], words[2:]
    if operation in HIGH_LEVEL.get("s3" if service == "s3" else "", ()):
        return
    members = operations("s3" if service == "s3api" else service).get(operation)
    assert members is not None, f"{service} has no operation {operation}"
    given = {word[2:].partition("=")[0].removeprefix("no-") for word in rest if word.startswith("--")}
    assert given - members - OF_AWS == set(), f"aws {service} {operation} has no {given - members - OF_AWS}"


@cache
def operations(service: str) -> dict[str, set[str]]:
    """Return the members of each operation, in the words of the AWS command."""
    model = botocore.session.get_session().get_service_model(service)
    inputs = {name: model.operation_model(name).input_shape for name in model.operation_names}
    return {
        xform_name(name, "-"): {xform_name(member, "-") for member in (shape.members if shape else ())}
        for name, shape in inputs.items()
    }
