"""Strangers' text for people: every character is visible, and none hides, blanks out, reorders or piles up.

It knows Unicode and no markup. The writer for a terminal, a browser or Slack escapes the characters that those obey.
Letters of all scripts stay, and so do joiners and emoji that belong to the spelling of a word or a sign.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator

PILE = 5  # marks on one letter: pointed Hebrew has four, and a name of Tibetan's five
JOINERS = "\u200c\u200d"
EMOJI = "\ufe0f"
VIRAMA = 9  # the combining class of signs that join letters in the scripts of India
RIGHT_TO_LEFT = frozenset({"R", "AL"})
# Unicode's Default_Ignorable_Code_Point that Python takes for printable, and characters drawn as nothing.
UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # joins graphemes
        (0x115F, 0x1160),  # fill Hangul
        (0x17B4, 0x17B5),  # inherent vowels of Khmer
        (0x180B, 0x180F),  # choose forms of Mongolian
        (0x2800, 0x2800),  # Braille without dots
        (0x3164, 0x3164),  # fills Hangul
        (0xFE00, 0xFE0F),  # choose forms
        (0xFFA0, 0xFFA0),  # fills Hangul, half as wide
        (0x16FE4, 0x16FE4),  # fills Khitan
        (0x1D159, 0x1D159),  # a note without a head
        (0xE0000, 0xE0FFF),  # tags, and more that choose forms
    )
    for code in range(first, last + 1)
)


def visible(text: str, escape: Callable[[str], str]) -> str:
    """Return the text, with `escape` applied to each character that would not be visible as itself."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if is_shown else escape(char) for char, is_shown in _visibility(text))


def code_point(char: str) -> str:
    """Return a character's number, as Python writes it."""
    return char.encode("unicode_escape", "surrogatepass").decode()


def is_seen(char: str) -> bool:
    """Return True if the character is visible at any place. Others must be escaped."""
    return char.isprintable() and char not in UNSEEN


def _visibility(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character with a flag, True if it is visible in its place. A mark needs a letter: otherwise it
    would be drawn on one of ours.
    """
    pile = PILE
    for at, char in enumerate(text):
        if is_mark(char):
            pile += 1
            yield char, is_seen(char) and pile <= PILE
        elif is_seen(char):
            pile = PILE if char == " " else 0
            yield char, True
        else:
            is_shown = _is_spelling(text, at)
            pile = pile if is_shown else PILE
            yield char, is_shown


def is_mark(char: str) -> bool:
    """Return True if the character is drawn upon the one before it."""
    return unicodedata.category(char) in {"Mn", "Me"} and char not in UNSEEN


def _is_spelling(text: str, at: int) -> bool:
    """Return True if a joiner or an emoji selector has its proper effect here."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char == EMOJI:
        return _is_sign(before)
    if char not in JOINERS or not before or not after:
        return False
    if unicodedata.combining(before) == VIRAMA:
        return unicodedata.category(after).startswith("L")
    if _is_sign(before) or before == EMOJI:
        return char == "\u200d" and _is_sign(after)
    return unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"


def _is_sign(char: str) -> bool:
    """Return True for a picture, or a skin colour upon one."""
    return bool(char) and unicodedata.category(char) in {"So", "Sk"} and char not in UNSEEN


def turns(text: str) -> bool:
    """Return True if part of the text is written from right to left, which may reorder the text beside it."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in RIGHT_TO_LEFT for char in text)


def in_json(text: str) -> str:
    """Return an equivalent JSON document, with invisible characters and marks escaped."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or (is_seen(char) and not is_mark(char)) else _escape(char) for char in text)


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]
