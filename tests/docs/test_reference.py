"""Pages of the reference that are made from the code say what the code says."""

from __future__ import annotations

import re
from dataclasses import replace

from infra.config import DEFAULTS, Config
from infra.former import CONSTANTS
from tests.support import commands, options
from tests.support.pages import DOCS

UPGRADING = DOCS / "how-to/upgrading.md"


def test_the_page_of_commands_is_as_the_parser_has_them() -> None:
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), "run: make reference"


def test_every_command_says_what_it_does_and_what_its_options_are() -> None:
    for name, command in commands.commands():
        assert command.help, name
        for param in command.params:
            told = param.help or param.metavar
            assert told, (name, param.name)
            assert not commands.takes_value(param) or param.metavar, (name, param.name)


def test_the_page_of_settings_is_as_the_code_has_them() -> None:
    assert options.PAGE.read_text(encoding="utf-8") == options.page(), "run: make reference"


def test_every_setting_has_one_row_and_no_row_is_of_none() -> None:
    rows = [name for part in options.PARTS.values() for it in part for name in it.names]
    assert sorted(rows) == sorted(DEFAULTS.keys() - options.OF_TESTS)


def test_every_setting_that_has_gone_has_one_row_with_its_reason() -> None:
    part = UPGRADING.read_text(encoding="utf-8").partition("### Settings that have gone\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", part, re.MULTILINE)
    assert sorted(rows) == sorted(CONSTANTS)


def test_every_variable_of_the_local_cloud_has_one_row() -> None:
    assert sorted(name for it in options.LOCAL for name in it.names) == sorted(options.LOCAL_DEFAULTS)


def test_a_default_is_the_code_s() -> None:
    (it,) = [it for it in options.PARTS["Batches and jobs"] if it.names == ("spark.vcpus",)]
    assert options.default(it) == f"`{Config().spark_vcpus}`"
    assert options.default(replace(it, names=("batch.audit_tables", "batch.express_megabytes"))) == "`false`; `32`"
