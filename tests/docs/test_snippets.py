"""Every command and every piece of a file in the documentation is run, or says why not."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import sqlglot

from infra.former import new_form
from infra.settings_file import SettingsFile, flat
from lakegate.contracts import load
from tests.cli.desk import Desk
from tests.support.authority import Authority
from tests.support.pages import DOCS, ROOT, Fence, all_fences, commands, fences, pages
from tests.support.shell import CONTRACT, ELSEWHERE, Shell, asked_of_aws, made, parsed

LANGUAGES = {"bash", "yaml", "toml", "json", "properties", "python", "sql", "text", "csv", "hcl", "r"}
MOST_NOT_RUN = 20
# make test-wheel, the tests of readers, and a test of the page run their commands
APART = ("docs/tutorial.md", "docs/readers/", "docs/how-to/try.md")
HEAD = CONTRACT[: CONTRACT.index("servers:")]
SERVERS = CONTRACT[CONTRACT.index("servers:") : CONTRACT.index("schema:")]
TABLE = "schema:\n  - name: orders\n    physicalName: shop.orders\n"
# Columns that pieces of contracts speak of.
COLUMNS = {
    **dict.fromkeys(("id", "customer", "arr_time", "dep_time"), "integer"),
    **dict.fromkeys(("carrier", "phone", "email", "state", "shop", "day", "number"), "string"),
    "amount": "number",
    "placed": "timestamp",
}
EMPTY_ACCOUNT = (DOCS / "how-to/deploying.md").read_text(encoding="utf-8")


def ids(them: list[Fence]) -> list[str]:
    return [str(it) for it in them]


def runnable(language: str) -> list[Fence]:
    return [it for it in all_fences(language) if not it.not_run and not it.page.startswith(APART)]


def test_every_fence_says_its_language() -> None:
    assert [(str(it), it.language) for it in all_fences() if it.language not in LANGUAGES] == []


def test_few_fences_are_not_run_and_each_says_why() -> None:
    left = [it for it in all_fences() if it.note.startswith("not run")]
    assert [str(it) for it in left if not it.not_run] == []
    assert len(left) <= MOST_NOT_RUN


def test_no_command_hides_as_text() -> None:
    hidden = re.compile(r"^\$? ?(lakegate|make|aws|pip|uv) \w", re.MULTILINE)
    generated = "docs/reference/cli.md"
    assert [str(it) for it in all_fences("text") if it.page != generated and hidden.search(it.text)] == []


# Contracts


def columns_but(text: str) -> str:
    said = set(re.findall(r"name: (\w+)", text))
    return "".join(
        f"      - {{name: {name}, logicalType: {logical}}}\n" for name, logical in COLUMNS.items() if name not in said
    )


def with_columns(text: str) -> str:
    """The table of a piece that may say some columns itself."""
    if "    properties:\n" in text:
        return text.replace("    properties:\n", f"    properties:\n{columns_but(text)}", 1)
    return f"{text}    properties:\n{columns_but(text)}"


PLAIN = f"{TABLE}    properties:\n{columns_but('')}"
# What stands before a piece, by its indentation: a word of the contract, a server, a word of the table, a column, or a
# word of a column.
BEFORE = {
    0: f"{HEAD}{SERVERS}{PLAIN}",
    2: f"{HEAD}servers:\n  - {SERVERS.partition('[')[2].rpartition(']')[0]}\n",
    4: f"{HEAD}{SERVERS}{PLAIN}",
    6: f"{HEAD}{SERVERS}{TABLE}    properties:\n",
    8: f"{HEAD}{SERVERS}{PLAIN}      - name: seen\n        logicalType: timestamp\n",
}


def whole(piece: str) -> str:
    """A contract that has the piece where its indentation and first word put it."""
    found = re.match(r"( *)(?:- )?(\w+)", piece)
    assert found
    by_word = {
        "apiVersion": lambda: piece,
        "servers": lambda: f"{HEAD}{piece}{PLAIN}",
        "schema": lambda: f"{HEAD}{SERVERS}{with_columns(piece)}",
        "server": lambda: f"{BEFORE[2]}{piece}{PLAIN}",
    }
    if found[2] in by_word:
        return by_word[found[2]]()
    before = BEFORE[len(found[1])]
    if len(found[1]) == 6:
        before += columns_but(piece)
    if "partitionTransform" in piece and len(found[1]) == 8:
        before += "        partitioned: true\n"
    if "nullValues, vendor" in piece:
        before = before.replace("format: parquet", "format: csv")
    return before + piece


@pytest.mark.parametrize("fence", runnable("yaml"), ids=str)
def test_a_piece_of_a_contract_loads_where_it_belongs(fence: Fence) -> None:
    assert load(whole(fence.text), str(fence)).table


def test_a_piece_with_a_fault_does_not_load() -> None:
    with pytest.raises(Exception, match="requried"):
        load(whole("      - name: id\n        logicalType: integer\n        requried: true\n"), "piece")


# Settings, policies, SQL


def settled(text: str) -> str:
    """The settings of a piece, with those of an empty account where it has none, and values for what is left open."""
    text = text.replace("https://…", "https://0a").replace("sha256:…", f"sha256:{'0' * 64}")
    text = text.replace("<account>", "123456789012").replace("<name>", "lakegate").replace("<region>", "us-east-1")
    text = re.sub(r"-----BEGIN.*?END CERTIFICATE-----\n", Authority.made("ours").pem, text, flags=re.DOTALL)
    (account,) = re.findall(r"```toml\n(.*?)```", EMPTY_ACCOUNT, re.DOTALL)
    account = account.replace("https://…", "https://0a").replace("sha256:…", f"sha256:{'0' * 64}")
    piece = flat(tomllib.loads(text))
    own = "nessie.uri" in piece and "catalog.image" not in piece  # then there is no catalog stack
    return new_form(({} if own else flat(tomllib.loads(account))) | piece)


@pytest.mark.parametrize("fence", runnable("toml"), ids=str)
def test_settings_are_taken(fence: Fence, tmp_path: Path) -> None:
    (tmp_path / "prod.toml").write_text(settled(fence.text))
    assert SettingsFile.read(tmp_path / "prod.toml").config().name


@pytest.mark.parametrize("fence", runnable("json"), ids=str)
def test_json_is_json(fence: Fence) -> None:
    assert json.loads(fence.text)


def test_sql_is_sql() -> None:
    for fence in runnable("sql"):
        assert sqlglot.parse(fence.text, dialect="spark"), fence


@pytest.mark.parametrize("fence", runnable("properties"), ids=str)
def test_properties_have_each_a_name_and_a_value(fence: Fence) -> None:
    lines = [line.partition("=") for line in fence.text.splitlines()]
    assert all(name and value for name, _, value in lines)
    assert len({name for name, _, _ in lines}) == len(lines)


# Commands


def pages_with_commands() -> list[Path]:
    return sorted({ROOT / it.page for it in runnable("bash")})


@pytest.mark.parametrize("page", pages_with_commands(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    own = [it.text for it in fences(page) if it.language == "yaml" and it.text.startswith("apiVersion:")]
    shell = Shell(desk=Desk(folder=tmp_path), contract=own[0] if own else CONTRACT)
    shell.prepare()
    for fence in fences(page):
        if fence.language == "bash" and not fence.not_run:
            for command in commands(fence.text):
                shell.run(command, ends=int(fence.note.removeprefix("ends with ") or 0))


def inline(program: str) -> list[tuple[str, str]]:
    """Return what stands in a line of text and begins with the program, by its page."""
    found = [(page, code) for page in pages() for code in re.findall(rf"(?<!`)`({program} [^`\n]+)`", page.read_text())]
    return [(str(page.relative_to(ROOT)), code) for page, code in found]


def test_a_command_of_lakegate_s_in_a_line_of_text_is_one() -> None:
    for page, code in inline("lakegate"):
        words = re.sub(r"[\[\]…]|\"[^\"]*\"|'[^']*'", " ", re.split("[;,]|&&", code)[0]).split()[1:]
        if words and re.fullmatch("[a-z]+", words[0]):
            try:
                parsed([word for word in words if not word.isupper()])
            except AssertionError as error:
                raise AssertionError(f"{page}: {code}: {error}") from error


def test_a_target_of_make_in_a_line_of_text_is_one() -> None:
    for _, code in inline("make"):
        made(code.partition(",")[0])


def test_a_command_of_aws_in_a_line_of_text_is_one() -> None:
    for page, code in inline("aws"):
        try:
            asked_of_aws(re.split("[;,] |&&", code)[0])
        except AssertionError as error:
            raise AssertionError(f"{page}: {code}: {error}") from error


def test_what_is_run_elsewhere_is_tested_there() -> None:
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    "line",
    [
        "lakegate contract puhs orders.yaml",
        "lakegate status --jsno",
        "lakegate drop january.parquet --table no.table",
        "make nothing",
        "aws lambda invoke-it --function-name x",
        "aws lambda invoke --function x out.json",
        "lakegate status | frobnicate",
    ],
)
def test_a_command_that_is_none_is_found(line: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Shell(desk=Desk(folder=tmp_path)).run(line)
