"""Text of strangers as people are shown it: every character is seen, none hides, blanks out, reorders or piles up.

It knows Unicode and no markup: what a terminal, a browser or Slack would obey is for who writes for them. Letters of
all scripts stay as they are, and so do joiners and emoji where they are part of how a word or a sign is written.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator

PILED = 5  # marks on one letter: pointed Hebrew has four, and a name of Tibetan's five
JOINERS = "\u200c\u200d"
EMOJI = "\ufe0f"
VIRAMA = 9  # the combining class of what joins letters in the scripts of India
RIGHT_TO_LEFT = frozenset({"R", "AL"})
# Unicode's Default_Ignorable_Code_Point where Python holds it for printable, and what is drawn as nothing.
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


def shown(text: str, instead: Callable[[str], str]) -> str:
    """The text, with what `instead` makes of each character in the place of those that are not to be seen as such."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if seen else instead(char) for char, seen in _seen(text))


def spelt(char: str) -> str:
    """A character by its number, as Python writes it."""
    return char.encode("unicode_escape", "surrogatepass").decode()


def is_seen(char: str) -> bool:
    """Whether a character is seen wherever it stands: no other may be shown as it is."""
    return char.isprintable() and char not in UNSEEN


def _seen(text: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it is seen where it stands. A mark needs a letter: it would be put on ours."""
    piled = PILED
    for at, char in enumerate(text):
        if is_mark(char):
            piled += 1
            yield char, is_seen(char) and piled <= PILED
        elif is_seen(char):
            piled = PILED if char == " " else 0
            yield char, True
        else:
            seen = _is_spelling(text, at)
            piled = piled if seen else PILED
            yield char, seen


def is_mark(char: str) -> bool:
    """Whether it is drawn upon the character before it."""
    return unicodedata.category(char) in {"Mn", "Me"} and char not in UNSEEN


def _is_spelling(text: str, at: int) -> bool:
    """Whether a joiner, or what makes an emoji of a sign, does here what it is for."""
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
    """A picture, or the colour of a skin upon one."""
    return bool(char) and unicodedata.category(char) in {"So", "Sk"} and char not in UNSEEN


def turns(text: str) -> bool:
    """Whether some of it is written from right to left, by which what stands beside it may be reordered."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in RIGHT_TO_LEFT for char in text)


def in_json(text: str) -> str:
    """A JSON document with what is not seen, or may not be where it stands, escaped: it says the same."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or (is_seen(char) and not is_mark(char)) else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]
