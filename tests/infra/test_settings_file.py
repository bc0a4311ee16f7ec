"""Choices from an environment's settings file: each fault at once, with its file and line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from infra.config import DEFAULTS, TYPES, Config
from infra.former import CONSTANTS, NEW_NAMES, new_form, translate
from infra.settings_file import SettingsFile, _lines
from lakegate.errors import Misconfigured
from tests.support.authority import Authority

UPLOADERS = (
    "landing.uploaders are ARNs of accounts, roles or users, each alone or with a prefix that ends with /: "
    "arn:aws:iam::<account>:root=<prefix>/,…"
)
NETWORK = '[network]\nsubnets = ["subnet-1"]\nsecurity_groups = ["sg-1"]\n[nessie]\nuri = "http://n"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dev.toml"


def config(path: Path, text: str, region: str = "") -> Config:
    path.write_text(text)
    return SettingsFile.read(path).config(region)


def faults(path: Path, text: str, region: str = "") -> list[str]:
    with pytest.raises(Misconfigured) as refusal:
        config(path, text, region)
    return str(refusal.value).replace(f"{path}", "dev.toml").split("\n")


def test_a_file_gives_each_kind_of_choice(path: Path) -> None:
    read = config(path, f"ephemeral = true\n{NETWORK}[spark]\nvcpus = 32\nconf = []\n")
    network: dict[str, Any] = {"network_subnets": ("subnet-1",), "network_security_groups": ("sg-1",)}
    assert read == Config(**network, nessie_uri="http://n", spark_vcpus=32, ephemeral=True)


def test_a_table_may_be_written_as_dotted_keys_or_in_one_line(path: Path) -> None:
    text = "spark.vcpus = 32\nbatch = { window_seconds = 0, audit_tables = true }\n"
    read = config(path, text + NETWORK)
    assert (read.spark_vcpus, read.batch_window_seconds, read.batch_audit_tables) == (32, 0, True)


def test_every_fault_is_told_at_once_with_its_line(path: Path) -> None:
    text = f"""# our installation
slack.secert = "lakegate/slack"
{NETWORK}[spark]
vcpus = "16"

[landing]
uploaders = [
  "arn:aws:iam::123456789012:root",
  "somebody",
]
[batch]  # of files
window_seconds = -1
"""
    assert faults(path, text) == [
        "dev.toml:2: slack.secert is no setting: did you mean slack.secret?",
        "dev.toml:9: spark.vcpus is a whole number",
        f"dev.toml:12: {UPLOADERS}",
        "dev.toml:17: batch.window_seconds is 0, which is at once, to 300",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("spark.vcpus = true", "spark.vcpus is a whole number"),
        ("spark.vcpus = 16.0", "spark.vcpus is a whole number"),
        ("ephemeral = 1", "ephemeral is true or false"),
        ("name = 7", "name is text in quotes"),
        ('landing.uploaders = "arn:aws:iam::123456789012:root"', "landing.uploaders is a list of texts, in brackets"),
        ("spark.conf = [1]", "spark.conf is a list of texts, in brackets"),
        ("spark.conf.a = 1", "spark.conf is a list of texts, in brackets"),
        ("[spark.conf]", "spark.conf is a list of texts, in brackets"),
        ("[netwrok]\nvpc = 'create'", "netwrok.vpc is no setting: did you mean network.vpc?"),
        ("[spark_jobs]\nat_once = 4", "spark_jobs.at_once is no setting: did you mean spark.jobs_at_once?"),
        ("network = 1", "network is no setting: did you mean network.vpc?"),
        ("zzz = 1", "zzz is no setting"),
    ],
)
def test_a_value_of_another_type_and_an_unknown_name_are_refused(path: Path, line: str, words: str) -> None:
    dotted_keys = 'network.subnets = ["subnet-1"]\nnetwork.security_groups = ["sg-1"]\nnessie.uri = "http://n"\n'
    rest = "" if line.startswith("network =") else dotted_keys
    number = rest.count("\n") + 1 + line.count("\n")
    assert f"dev.toml:{number}: {words}" in faults(path, rest + line)


@pytest.mark.parametrize("name", DEFAULTS)
def test_no_setting_takes_a_value_of_another_type(path: Path, name: str) -> None:
    table, _, key = name.rpartition(".")
    header, line = (f"[{table}]", 2) if table else ("# ours", 2)
    for value in ("1979-05-27", "1.5", "[[]]", "[1]", *(["{ a = 1 }"] if table else [])):
        assert f"dev.toml:{line}: {name} is {TYPES[type(DEFAULTS[name])]}" in faults(
            path, f"{header}\n{key} = {value}\n"
        )


def test_a_name_that_is_no_word_has_its_line(path: Path) -> None:
    assert "dev.toml:7: nessie.a b is no setting: did you mean nessie.ca?" in faults(
        path, NETWORK + "ca = ''\n'a b' = 1\n"
    )


def test_a_fault_of_a_combination_has_the_line_of_the_first_setting_that_is_given(path: Path) -> None:
    assert faults(path, NETWORK + '[slack]\nchannel = "C0"\n') == [
        "dev.toml:7: slack.secret and slack.channel are given together"
    ]
    topic = 'alarm.topic = "arn:aws:sns:eu-central-1:123456789012:alarms"\n'
    (fault,) = faults(path, topic + NETWORK, region="us-east-1")
    assert fault.startswith("dev.toml:1: alarm.topic is a topic in us-east-1")


def test_a_fault_of_a_combination_is_told_on_the_line_of_what_the_file_gives_of_it(path: Path) -> None:
    assert faults(path, NETWORK + "[spark]\njobs_at_once = 5\n") == [
        "dev.toml:7: spark.vcpus is at least 4 for each of spark.jobs_at_once"
    ]


def test_what_has_another_type_is_no_part_of_a_combination(path: Path) -> None:
    text = NETWORK + '[spark]\nvcpus = 2\njobs_at_once = "5"\n'
    assert faults(path, text) == ["dev.toml:8: spark.jobs_at_once is a whole number"]


def test_a_fault_of_what_is_missing_names_what_it_is_for(path: Path) -> None:
    text = '[token]\nendpoint = "https://issuer.example.com/token"\n'
    assert "dev.toml:2: token.endpoint needs token.issuer and token.claim for a catalog stack" in faults(path, text)


@pytest.mark.parametrize("text", ["", 'name = "lake"\n', '[catalog]\nsize = "prod"\n'])
def test_a_file_that_names_no_nessie_is_whole_and_has_a_catalog_stack(path: Path, text: str) -> None:
    read = config(path, text)
    assert read.catalog_image.startswith("quay.io/projectnessie/nessie:")
    assert read.nessie_uri == f"https://{read.name}-nessie.internal"


def test_a_network_without_a_nessie_is_a_fault(path: Path) -> None:
    text = '[network]\nsubnets = ["subnet-0a"]\nsecurity_groups = ["sg-0a"]\n'
    (fault,) = faults(path, text)
    assert fault.startswith("dev.toml:2: give nessie.uri for network.subnets and network.security_groups")


def test_text_that_is_not_toml_is_told_with_its_line(path: Path) -> None:
    assert faults(path, NETWORK + "vcpus: 16\n") == ["dev.toml:6: Expected '=' after a key in a key/value pair"]
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
    "{} = [\n  1, # ]\n  [2],\n]",
    "{} = '\u2028'",
    "{}.b = {{c = 1}}",
    "[{}]  # = 1",
    "  [{}.b]",
    "[[{}]]",
)


@given(strategies.lists(strategies.sampled_from(STATEMENTS), max_size=8))
def test_each_name_has_the_line_on_which_its_statement_begins(statements: list[str]) -> None:
    text, expected, table, is_array = "", dict[str, int](), list[str](), False
    for number, statement in enumerate(statements):
        if "{}" in statement:
            path = [f"k{number}", *(["b"] if "}.b" in statement else [])]
            is_header = statement.strip().startswith("[")
            table, path = (path, path) if is_header else (table, [*table, *path])
            is_array = "[[" in statement if is_header else is_array
            if (len(path) > 1 and not is_array) or "[[" in statement or (not is_header and not is_array):
                expected.setdefault(".".join(path[:2]), text.count("\n") + 1)
        text += statement.format(f"k{number}") + "\n"
    assert _lines(text) == expected


# Files of an earlier release.

ALONE: dict[str, Any] = {  # values that need no other, as they stood in a flat file
    "name": "lake",
    "ephemeral": True,
    "nessie_ca": Authority.made("ours").pem,
    "warehouse": "house",
    "event_bus": "lake-events",
    "alarm_topic": "arn:aws:sns:eu-central-1:123456789012:alarms",
    "runbook": "https://wiki.example.com/lakegate",
    "undecided_minutes": 60,
    "rejected_percent": 20,
    "canary_hours": 0,
    "architecture": "x86_64",
    "batch_window": 60,
    "reconcile_minutes": 10,
    "job_timeout_minutes": 50,
    "release": "emr-7.12.0",
    "image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lake:1",
    "spark_conf": ['spark.a="1"', "spark.b=\\1\u007f"],
    "vcpus": 64,
    "jobs_at_once": 4,
    "grace_seconds": 300,
    "compact_after_days": 20,
    "attempts": 5,
    "audit_tables": True,
    "express": True,
    "kms_key": "create",
    "upload_keys": ["arn:aws:kms:eu-central-1:210987654321:key/0b"],
    "slack_api": "https://slack.example.com/api/",
}
TOGETHER: list[dict[str, Any]] = [
    {"slack_secret": "lake/slack", "slack_channel": "C0"},
    {"webhook_url": "https://hook.example.com/lake", "webhook_secret": "lake/webhook"},
    {"lineage_url": "https://lineage.example.com", "lineage_secret": "lake/lineage"},
    {"express": False, "express_megabytes": 16},
]
LANDING: list[dict[str, Any]] = [
    {},
    {"uploaders": ["arn:aws:iam::123456789012:root=acme/"], "landing_days": 90},
    {"landing_bucket": "theirs"},
    {"landing_bucket": "theirs", "landing_prefixes": ["in/", "out/"]},
]
STACK: dict[str, Any] = {
    "token_issuer": "https://0123.tokens.sts.global.api.aws",
    "nessie_image": f"quay.io/projectnessie/nessie@sha256:{'0' * 64}",
    "catalog_host": "nessie.example.com",
    "catalog_size": "prod",
}
BROUGHT: dict[str, Any] = {"subnets": ["subnet-1"], "security_groups": ["sg-1"]}
ISSUER: dict[str, Any] = {
    "token_endpoint": "https://issuer.example.com/token",
    "token_scope": "catalog",
    "token_claim": "azp",
    "token_clients": [f"{role}=c-{role}:oidc/{role}" for role in ("spark", "ingest", "publish", "observer")],
}
CATALOGS: list[dict[str, Any]] = [
    BROUGHT | {"nessie_uri": "https://nessie.example.com"},
    BROUGHT | {"nessie_uri": "https://nessie.example.com", "token_audience": "lake"},
    STACK | {"vpc": "create", "catalog_zone": "Z0123", "token_audience": "lake"},
    STACK | ISSUER | {"vpc": "create", "azs": ["a", "b"], "catalog_zone": "Z0123"},
    STACK
    | {"vpc": "vpc-0a", "azs": ["a", "b"], "subnets": ["subnet-1", "subnet-2"], "token_audience": "lake"}
    | {"catalog_certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/0a"},
]
OLD_NAMES = {*ALONE, *LANDING[1], *LANDING[3], *ISSUER, *CATALOGS[0], *CATALOGS[3], *CATALOGS[4]}.union(*TOGETHER)


@strategies.composite
def flat_files(draw: strategies.DrawFn) -> dict[str, Any]:
    """A settings file of an earlier release that has no fault."""
    alone = draw(strategies.sets(strategies.sampled_from([*ALONE])))
    parts = [draw(strategies.sampled_from(CATALOGS)), draw(strategies.sampled_from(LANDING))]
    together = draw(strategies.lists(strategies.sampled_from(TOGETHER), max_size=3))
    values: dict[str, Any] = {name: ALONE[name] for name in alone}
    for part in [*parts, *together]:
        values |= part
    return dict(draw(strategies.permutations(list(values.items()))))


@given(flat_files())
def test_a_flat_file_is_refused_with_a_form_that_is_taken_and_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("flat") / "prod.toml"
    flat = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()).replace("\x7f", "\\u007f")
    with pytest.raises(Misconfigured, match="settings are in tables now") as refusal:
        config(path, flat)
    pasted = str(refusal.value).partition("\n\n")[2]
    taken = config(path, pasted)
    assert {f"# {name} is left out: {CONSTANTS[name]}" for name in values.keys() & CONSTANTS} == {
        line for line in pasted.splitlines() if line.startswith("#")
    }
    expected = translate(values)
    assert {name: as_given(taken, name) for name in expected} == expected
    assert {name for name in DEFAULTS if as_given(taken, name) != as_given(Config(), name)} <= expected.keys()


def as_given(config: Config, name: str) -> object:
    value = config.model_dump(by_alias=True)[name]
    return list(value) if isinstance(value, tuple) else value


FLAT = (  # all settings of the last release whose files were flat
    "name nessie_uri nessie_ca warehouse token_audience token_issuer token_endpoint token_scope token_claim "
    "token_clients nessie_image catalog_size catalog_host catalog_certificate catalog_zone vpc azs slack_secret "
    "slack_channel slack_api event_bus webhook_url webhook_secret lineage_url lineage_secret alarm_topic runbook "
    "undecided_minutes rejected_percent canary_hours architecture batch_window reconcile_minutes "
    "job_timeout_minutes release image spark_conf vcpus jobs_at_once grace_seconds compact_after_days attempts "
    "audit_tables express express_megabytes uploaders landing_days landing_bucket landing_prefixes kms_key "
    "upload_keys ephemeral subnets security_groups"
)


def test_every_setting_of_a_flat_file_is_drawn_and_has_a_place_or_has_gone() -> None:
    assert set(FLAT.split()) == OLD_NAMES
    assert [name for name in FLAT.split() if not {name} & {"name", "ephemeral", *NEW_NAMES, *CONSTANTS}] == []


@pytest.mark.parametrize(
    ("values", "now"),
    [
        ({"catalog_host": "n.example.com"}, {"nessie.uri": "https://n.example.com"}),
        ({"catalog_zone": "Z0"}, {"catalog.certificate": "Z0"}),
        ({"express": False, "express_megabytes": 16}, {"batch.express_megabytes": 0}),
        ({"express": True, "express_megabytes": 16}, {"batch.express_megabytes": 16}),
        ({"express": True}, {}),
        ({"landing_bucket": "b"}, {"landing.folders": ["s3://b/"]}),
        ({"landing_bucket": "b", "landing_prefixes": ["i/", "o/"]}, {"landing.folders": ["s3://b/i/", "s3://b/o/"]}),
        ({"landing_days": 0, "slack_secret": "", "subnets": []}, {"landing.keep_days": 0}),
    ],
)
def test_what_became_of_a_setting(values: dict[str, Any], now: dict[str, Any]) -> None:
    assert translate(values) == now


def test_a_file_of_both_forms_and_one_with_a_fault_are_printed_whole(path: Path) -> None:
    text = 'vcpus = "many"\nslak = 1\n"a b" = 2\n[nessie]\nuri = "http://n"\n"c d" = 3\n'
    lines = faults(path, text)
    assert lines[2:] == [
        "slak = 1",
        '"a b" = 2',
        "",
        "[nessie]",
        'uri = "http://n"',
        '"c d" = 3',
        "",
        "[spark]",
        'vcpus = "many"',
        "",
    ]
    path.write_text("\n".join(lines[2:]))
    assert "dev.toml:9: spark.vcpus is a whole number" in faults(path, "\n".join(lines[2:]))


@pytest.mark.parametrize("value", ["1979-05-27", "1.5", "[[1]]", "12:30:00"])
def test_a_value_of_no_setting_s_type_is_printed_as_toml(value: str) -> None:
    assert tomllib.loads(new_form(tomllib.loads(f"vcpus = {value}")))["spark"]
