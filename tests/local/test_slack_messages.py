import io
import json
from pathlib import Path
from typing import Any

from lakegate_local.slack_messages import mrkdwn, read, rendered
from rich.console import Console


def shown(message: dict[str, Any]) -> Any:
    out = io.StringIO()
    Console(file=out, width=60).print(rendered(message))
    return out.getvalue()


def test_markup_becomes_style_and_entities_become_characters() -> None:
    text = mrkdwn("*3 of 12* rows of `a&lt;b` &amp; <https://example.org|the report>")

    assert text.plain == "3 of 12 rows of a<b & the report"
    assert {span.style for span in text.spans} >= {"bold", "cyan"}


def test_stars_and_underscores_inside_words_stay() -> None:
    assert mrkdwn("2*3*4 and dep_time_local").plain == "2*3*4 and dep_time_local"


def test_message_shows_every_block() -> None:
    message = {
        "channel": "#data",
        "ts": "1700000000.000100",
        "text": "fallback",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Rejected"}},
            {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Table*\nnyc.flights"}]},
            {"type": "divider"},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "batch b1"}]},
            {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open"}}]},
        ],
    }

    text = shown(message)

    assert all(part in text for part in ("#data", "Rejected", "nyc.flights", "batch b1", "[Open]"))
    assert "fallback" not in text


def test_message_without_blocks_shows_its_text() -> None:
    assert "only text" in shown({"channel": "#data", "ts": "1700000000.0", "text": "only text"})


def test_console_markup_in_a_message_is_shown_as_it_is() -> None:
    assert "[red]" in shown({"channel": "#data", "ts": "1700000000.0", "text": "key[red].parquet"})


def test_no_file_means_no_messages(tmp_path: Path) -> None:
    assert read(tmp_path / "slack.jsonl") == []


def test_message_may_hold_what_python_takes_for_the_end_of_a_line(tmp_path: Path) -> None:
    sent = [{"ts": "1700000000.0", "text": "one\u2028two\u0085three"}, {"ts": "1700000001.0", "text": "ü"}]
    file = tmp_path / "slack.jsonl"
    file.write_text("".join(json.dumps(message, ensure_ascii=False) + "\n" for message in sent), encoding="utf-8")

    assert read(file) == sent
