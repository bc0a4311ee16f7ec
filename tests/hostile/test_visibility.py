"""Text that people are shown: nothing in it hides, blanks out, reorders, piles up or is obeyed, in no place."""

import json
import re
import sys
import unicodedata
from io import StringIO

import pytest
import regex
import structlog
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from lakegate import bootstrap
from lakegate.adapters import slack
from lakegate.cli import terminal
from lakegate.cli.page import document as page
from lakegate.ports import Message, MessageFile, MessageKind
from lakegate.visibility import PILE, in_json, visible
from tests.hostile import names
from tests.hostile.growth import assert_linear

# By Unicode's own properties, as another library has them; and what is drawn as nothing, by name.
HIDDEN = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Variation_Selector}\p{Cf}\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]"
    r"|[\u2800\U0001D159\U00016FE4]"
)
EVERY = [chr(code) for code in range(sys.maxunicode + 1)]
WAYS = {"slack": slack.clean, "terminal": terminal.clean}


def dropped(text: str) -> str:
    return visible(text, lambda _: "")


def unhidden(text: str) -> bool:
    return HIDDEN.search(text) is None


@pytest.mark.extended
@pytest.mark.parametrize("way", WAYS)
def test_no_character_of_all_that_there_are_passes_where_it_would_not_be_seen(way: str) -> None:
    passed = [char for char in EVERY if HIDDEN.fullmatch(char) and char in WAYS[way](f"a{char}b")]
    assert [f"U+{ord(char):04X}" for char in passed] == []


@pytest.mark.parametrize("way", WAYS)
def test_no_white_space_but_the_plain_one_passes(way: str) -> None:
    assert [char for char in EVERY if char.isspace() and char != " " and char in WAYS[way](f"a{char}b")] == []


def test_every_letter_digit_and_sign_that_is_seen_stays_as_it_is() -> None:
    seen = [char for char in EVERY if unicodedata.category(char)[0] in "LNPS" and not HIDDEN.fullmatch(char)]
    assert len(seen) > 130_000
    assert dropped("".join(seen)) == "".join(seen)
    assert [char for char in seen if terminal.clean(char) != char] == []


def test_every_mark_that_is_seen_stays_upon_its_letter() -> None:
    marks = [char for char in EVERY if unicodedata.category(char)[0] == "M" and not HIDDEN.fullmatch(char)]
    assert len(marks) > 2_000
    assert [char for char in marks if dropped(f"a{char}") != f"a{char}"] == []


@pytest.mark.parametrize(
    "text",
    [
        "مرحبا بالعالم",
        "نمی‌خواهم",  # Persian, with a non-joiner
        "שָׁלוֹם",
        "क्‍ष हिन्दी",  # a joiner after a virama
        "ශ්‍රී ලංකා",
        "ക്‍",
        "ไม่มีชื่อ",
        "བོད་སྐད་ཡིག",
        "한국어 조선말",
        "日本語、中文",
        "Tiếng Việt e\u0302\u0301",
        "ẍ̧ naïve Ångström",
        "❤️ ☀️",
        "👩‍🔬 👨‍👩‍👧 👍🏽 👩🏽‍🔬 🏳️‍🌈 🇩🇪",
        "a b+%#?[x]{y}'\"é.parquet",
    ],
)
def test_what_people_write_in_their_scripts_stays_readable(text: str) -> None:
    kept = text.removesuffix("\u200d")
    assert dropped(text) == kept
    assert slack.clean(kept) == kept
    assert terminal.clean(kept) == kept


@pytest.mark.parametrize("kind", names.DECEIVING)
@pytest.mark.parametrize("way", WAYS)
def test_a_text_that_deceives_is_shown_as_what_it_is(way: str, kind: str) -> None:
    cleaned = WAYS[way](names.DECEIVING[kind])
    assert unhidden(cleaned)
    assert cleaned.isprintable()
    assert longest_pile(cleaned) <= PILE


def longest_pile(text: str) -> int:
    kinds = "".join(unicodedata.category(char) for char in text)
    return max((len(found) // 2 for found in re.findall("(?:Mn|Me)+", kinds)), default=0)


def test_a_mark_without_a_letter_is_not_put_upon_ours() -> None:
    for text in ("\u0338file", " \u0338file", "a\n\u0338b"):
        assert "\u0338" not in dropped(text)


@given(st.text(alphabet=st.characters(), max_size=30))
def test_whatever_is_written_is_shown_on_one_line_without_what_hides(text: str) -> None:
    for clean in WAYS.values():
        cleaned = clean(text)
        left = [char for char in cleaned if HIDDEN.fullmatch(char)]
        assert set(left) <= {"\u200c", "\u200d", "\ufe0f"}  # where they spell something
        assert "\n" not in cleaned
        assert longest_pile(cleaned) <= PILE
        assert clean(cleaned) == cleaned


@given(st.text(alphabet=st.characters(), max_size=30))
def test_json_says_the_same_whatever_is_escaped_in_it(text: str) -> None:
    document = in_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert json.loads(document) == {text: [text]}
    assert unhidden(document)


@pytest.mark.parametrize("size", [2_000])
@pytest.mark.parametrize("piece", ["\u0301", "\u200d", "\u202e", "a\u0301", "👩‍", "é", "\ud800"])
def test_cleaning_takes_time_in_proportion_to_the_text(piece: str, size: int) -> None:
    for clean in (*WAYS.values(), in_json):
        assert_linear(lambda times: piece * times, clean, size)


EMOJI = re.compile(r":[\w+'.-]+:")


@pytest.mark.parametrize("kind", names.MARKUP)
def test_slack_s_markup_in_a_stranger_s_text_has_no_meaning(kind: str) -> None:
    text = names.MARKUP[kind]
    for told in (slack.plain(text, 3000), slack.summary(message(text)), slack.in_short(message(text))):
        assert not EMOJI.search(told)
        assert not re.search(r"<[^>]*>", told)
        assert not re.search(r"(?<![\w\u200b])[*_~]", told.replace("```", ""))
        assert not told.startswith("&gt;")
        assert "`" not in told.replace("```", "")


def message(text: str) -> Message:
    files = (MessageFile(key=text, reasons=(text,)),)
    return Message(kind=MessageKind.UNROUTED, batch="", table=text, branch="", files=files, why=text, commands=())


def test_what_is_written_from_right_to_left_is_set_apart_in_slack() -> None:
    for told in (slack.code("דוח/1.csv"), slack.plain("ملف 1.csv", 300)):
        assert (told[0], told[-1]) == ("\u2068", "\u2069")
    assert slack.code("report/1.csv") == "`report/1.csv`"


@pytest.mark.parametrize("kind", [*names.MARKUP, *names.DECEIVING])
def test_a_terminal_obeys_nothing_of_a_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, out = (names.MARKUP | names.DECEIVING)[kind], StringIO()
    screen = Console(file=out, force_terminal=True, width=80, markup=False, emoji=False, highlight=False)
    monkeypatch.setattr(terminal, "console", lambda: screen)
    terminal.print_lines(text)
    assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f]*\n", out.getvalue())
    assert out.getvalue().count("\n") == 1


@pytest.mark.parametrize("kind", [*names.MARKUP, *names.DECEIVING])
def test_a_page_holds_nothing_that_a_browser_hides_or_obeys(kind: str) -> None:
    text = (names.MARKUP | names.DECEIVING)[kind]
    assert unhidden(str(page._harmless(text)))


@pytest.mark.parametrize("kind", [*names.MARKUP, *names.DECEIVING, *names.KEYS])
def test_a_log_line_is_one_line_of_json_in_which_nothing_hides(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, out = (names.MARKUP | names.DECEIVING | names.KEYS)[kind], StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    bootstrap.configure_logging()
    structlog.get_logger().warning("held", key=text, keys=[text], by={"error": ValueError(text)})
    [line] = out.getvalue().splitlines()
    line.encode()
    assert unhidden(line)
    found = json.loads(line)["key"]
    assert found == text or found.startswith(text[: bootstrap.LONGEST])
