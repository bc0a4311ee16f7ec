"""Choices from an environment's settings file: each fault at once, with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies

from infra.config import DEFAULTS, TYPES, Config
from infra.settings_file import SettingsFile, _lines
from lakegate.errors import Misconfigured

UPLOADERS = (
    "uploaders are ARNs of accounts, roles or users, each alone or with a prefix that ends with /: "
    "arn:aws:iam::<account>:root=<prefix>/,…"
)
NETWORK = 'subnets = ["subnet-1"]\nsecurity_groups = ["sg-1"]\nnessie_uri = "http://n"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dev.toml"


def config(path: Path, text: str, region: str = "", **override: str) -> Config:
    path.write_text(text)
    return SettingsFile.read(path).config(override.get, region)


def faults(path: Path, text: str, region: str = "", **override: str) -> list[str]:
    with pytest.raises(Misconfigured) as refusal:
        config(path, text, region, **override)
    return str(refusal.value).replace(f"{path}", "dev.toml").split("\n")


def test_a_file_gives_each_kind_of_choice(path: Path) -> None:
    read = config(path, NETWORK + 'vcpus = 32\nephemeral = true\nwarehouse = "lake"  # Nessie\'s\n')
    assert read == Config(
        subnets=("subnet-1",), security_groups=("sg-1",), nessie_uri="http://n", vcpus=32, ephemeral=True
    )


def test_a_single_value_of_the_command_line_goes_before_the_file(path: Path) -> None:
    assert config(path, NETWORK + "vcpus = 32\n", vcpus="64").vcpus == 64


def test_every_fault_is_told_at_once_with_its_line(path: Path) -> None:
    text = f"""# our installation
slak_secret = "lakegate/slack"
vcpus = "16"
{NETWORK}uploaders = [
  "arn:aws:iam::123456789012:root",
  "somebody",
]
batch_window = -1
"""
    assert faults(path, text) == [
        "dev.toml:2: slak_secret is no setting: did you mean slack_secret?",
        "dev.toml:3: vcpus is a whole number",
        f"dev.toml:7: {UPLOADERS}",
        "dev.toml:11: batch_window is 0, which is at once, to 300 seconds",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("vcpus = true", "vcpus is a whole number"),
        ("vcpus = 16.0", "vcpus is a whole number"),
        ("ephemeral = 1", "ephemeral is true or false"),
        ("name = 7", "name is text in quotes"),
        ('uploaders = "arn:aws:iam::123456789012:root"', "uploaders is a list of texts, in brackets"),
        ("spark_conf = [1]", "spark_conf is a list of texts, in brackets"),
        ("[spark_conf]", "spark_conf is a list of texts, in brackets"),
        ("[network]", "network is no setting"),
        ("zzz = 1", "zzz is no setting"),
    ],
)
def test_a_value_of_another_type_and_an_unknown_name_are_refused(path: Path, line: str, said: str) -> None:
    assert faults(path, NETWORK + line) == [f"dev.toml:4: {said}"]


@pytest.mark.parametrize("name", DEFAULTS)
def test_no_setting_takes_a_value_of_another_type(path: Path, name: str) -> None:
    for value in ("1979-05-27", "1.5", "[[]]", "{ a = 1 }", "[1]"):
        assert f"dev.toml:2: {name} is {TYPES[type(DEFAULTS[name])]}" in faults(path, f"# ours\n{name} = {value}\n")


def test_a_name_that_is_no_word_has_its_line(path: Path) -> None:
    assert "dev.toml:5: a b is no setting" in faults(path, NETWORK + "vcpus = 16\n'a b' = 1\n")


def test_a_fault_of_a_combination_has_the_line_of_the_first_setting_that_is_given(path: Path) -> None:
    assert faults(path, NETWORK + 'slack_channel = "C0"\n') == [
        "dev.toml:4: slack_secret and slack_channel are given together"
    ]
    topic = 'alarm_topic = "arn:aws:sns:eu-central-1:123456789012:alarms"\n'
    (fault,) = faults(path, topic + NETWORK, region="us-east-1")
    assert fault.startswith("dev.toml:1: alarm_topic is a topic in us-east-1")


def test_a_fault_of_a_combination_is_told_on_the_line_of_what_the_file_gives_of_it(path: Path) -> None:
    assert faults(path, NETWORK + "jobs_at_once = 5\n") == ["dev.toml:4: vcpus is at least 4 for each of jobs_at_once"]


def test_what_has_another_type_is_no_part_of_a_combination(path: Path) -> None:
    text = NETWORK + 'grace_seconds = 20\nbatch_window = "5"\n'
    assert faults(path, text) == ["dev.toml:5: batch_window is a whole number"]


def test_a_fault_of_what_is_missing_names_the_file(path: Path) -> None:
    assert faults(path, 'nessie_uri = "https://nessie.example.com"') == [
        "dev.toml: give subnets=… and security_groups=… with a way to Nessie: without, jobs reach only AWS"
    ]


def test_a_fault_of_the_command_line_keeps_its_name(path: Path) -> None:
    assert faults(path, NETWORK + "batch_window = 5\n", batch_window="-1") == [
        "-c batch_window is 0, which is at once, to 300 seconds"
    ]


def test_text_that_is_not_toml_is_told_with_its_line(path: Path) -> None:
    assert faults(path, NETWORK + "vcpus: 16\n") == ["dev.toml:4: Expected '=' after a key in a key/value pair"]
    assert faults(path, "vcpus = 1\nvcpus = 2\n")[0].startswith("dev.toml:2: ")
    assert faults(path, 'name = "') == ["dev.toml: Unterminated string (at end of document)"]


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"dev\.toml: No such file"):
        SettingsFile.read(path)
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(Misconfigured, match="not UTF-8"):
        SettingsFile.read(path)


STATEMENTS = (
    "",
    "# x = 1",
    "{} = 1",
    '{} = """\n[a]\nb = 1\n"""',
    "{} = [\n  1, # ]\n  2,\n]",
    "{} = '\u2028'",
    "{}.b = {{c = 1}}",
)


@given(strategies.lists(strategies.sampled_from(STATEMENTS), max_size=8))
def test_each_name_has_the_line_on_which_its_statement_begins(statements: list[str]) -> None:
    text, expected = "", {}
    for number, statement in enumerate(statements):
        if "{}" in statement:
            expected[f"k{number}"] = text.count("\n") + 1
        text += statement.format(f"k{number}") + "\n"
    assert _lines(text) == expected
