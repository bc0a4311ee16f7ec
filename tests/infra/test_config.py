"""Choices from CDK context: their types, and every fault at once."""

from __future__ import annotations

import pytest

from infra.config import Config
from lakegate.errors import Misconfigured


def test_nothing_chosen_is_the_default() -> None:
    assert Config.read(lambda _: None) == Config()


def test_text_from_the_command_line_takes_the_type_of_the_choice() -> None:
    given = {"batch_window": "4", "ephemeral": "true", "subnets": "subnet-1, subnet-2", "security_groups": ["sg-1"]}
    config = Config.read(given.get)
    assert (config.batch_window, config.ephemeral) == (4, True)
    assert (config.subnets, config.security_groups) == (("subnet-1", "subnet-2"), ("sg-1",))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_window": "0"}, "batch_window is 1 to 300"),
        ({"batch_window": "soon"}, "batch_window=soon"),
        ({"reconcile_minutes": "0"}, "reconcile_minutes is 1 or more"),
        ({"attempts": "0"}, "attempts is 1 or more"),
        ({"jobs_at_once": "0"}, "jobs_at_once is 1 or more"),
        ({"alarm_topic": "lake-alarms"}, "alarm_topic is an SNS topic.s ARN"),
        ({"ephemeral": "perhaps"}, "ephemeral=perhaps"),
        ({"nessie_uri": "https://nessie.example.com/api"}, "without /api"),
        ({"subnets": "subnet-1"}, "security_groups"),
        ({"slack_secret": "token"}, "slack_channel"),
    ],
)
def test_a_wrong_choice_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(Misconfigured, match=message):
        Config.read(given.get)


def test_all_wrong_choices_are_named_at_once() -> None:
    with pytest.raises(Misconfigured) as caught:
        Config.read({"batch_window": "0", "reconcile_minutes": "x", "ephemeral": "y"}.get)
    assert [name in str(caught.value) for name in ("batch_window", "reconcile_minutes", "ephemeral")] == [True] * 3
