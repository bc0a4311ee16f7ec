"""Texts that are right and wrong by a pattern, a format or a length: one table for every engine that judges them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Texts:
    """One option of a string column, and texts that it must take for right and for wrong."""

    option: str
    value: str | int
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def pattern(value: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> Texts:
    return Texts(option="pattern", value=value, right=right, wrong=wrong)


def of_format(value: str, right: str, wrong: str) -> Texts:
    return Texts(option="format", value=value, right=tuple(right.split()), wrong=(*wrong.split(), "", " "))


PATTERNS = [
    pattern("b", ("abc", "b"), ("", "ac", "B")),
    pattern("^[A-Z]{2}$", ("AB",), ("AB\n", "\nAB", "ab", "ABC", "A", "AB\r", "AB\u2028", "ÄB", "AB ")),
    pattern("^a$|^b", ("a", "bcd"), ("ab", "a\n", "ca")),
    pattern("^.$", ("a", "é", "😀", " ", "\t", "\x85"), ("", "ab", "\n", "\r", "\u2028")),
    pattern(r"^\d+$", ("1", "007"), ("", "1a", "٣", "\uff11", "-1")),
    pattern(r"^\D+$", ("a", "٣"), ("", "1", "a1")),
    pattern(r"^\w+$", ("a_1",), ("é", "a-b", "")),
    pattern(r"^\s$", (" ", "\t", "\xa0", "\u2003", "\ufeff", "\n"), ("a", "", "\u200b", "\x85")),
    pattern(r"^[^\s@]+@[^\s@]+$", ("a@b",), ("a b@c", "@", "a@b@c")),
    pattern(r"^\$\.\*\+\?\(\)\[\]\{\}\|\^\\/-$", ("$.*+?()[]{}|^\\/-",), ("", "$", "a")),
    pattern("^[]a[^-]$".replace("[]a", r"[\]a"), ("]", "a", "[", "^", "-"), ("b", "", "\\")),
    pattern("^[a&&b~~c--d]+$".replace("--", r"\-"), ("a&b~c-d",), ("e", "")),
    pattern("^(ab|c){1,2}?$", ("ab", "cab", "cc"), ("", "abab c", "abcc")),
    pattern("^(?:a?){3}x{2,}$", ("xx", "aaaxxx"), ("x", "aaaaxx")),
    pattern("^[😀-😂é]+$", ("😁", "éé"), ("😃", "e", "")),
    pattern("^(?:a|bc)+$", ("abc", "a" * 500), ("a" * 501, "a" * 200_000, "d")),
    pattern("^.*a.*=$", ("aa=", "a" * 999 + "="), ("a" * 1_000, "a" * 1_000 + "=", "a" * 100_000 + "=")),
    pattern("^.*a.*b.*=$", ("ab=",), ("ab" * 125, "ab" * 125 + "=")),
    pattern(r"\s+$", ("a ", " " * 100_001), (" " * 10_000 + "a",)),
    pattern(r"\s+a\s+$", (" a ",), (" " * 999 + "a", " " * 999 + "a ", " " * 100_001 + "a ")),
    pattern("^a+$", ("a" * 200_000,), ("a" * 200_000 + "b",)),
    pattern(r"^\u0041\x42\t$", ("AB\t",), ("AB", "u0041")),
    pattern("^(?:a{1,100}b){1,10}$", ("a" * 100 + "b", "ab" * 10), ("", "ab" * 11)),
    pattern("^$", ("",), ("\n", " ")),
    pattern("'", ("it's",), ('"', "", "\\")),
    pattern(r"\\n", ("\\n",), ("\n", "n")),
    pattern("^[0-9A-F]{4}$", ("00FF",), ("00fF", "00ff", "0FF", "00FFF", "00FG", "00é", "00 F", "+0FF")),
    pattern(
        "^[0-9a-f]{32}$",
        ("0123456789abcdef" * 2,),
        (
            "0123456789abcdeF" * 2,
            "0" * 31,
            "0" * 33,
            "0" * 31 + "g",
            "0" * 30 + "é",
            "0" * 31 + "\n",
            "0" * 31 + "\x00",
        ),
    ),
    pattern(
        r"^id-\d{4}-[0-9a-fA-F]{12}$",
        ("id-2013-00ffAA00ffAA",),
        (
            "iD-2013-00ffAA00ffAA",
            "id-2013-00ffAA00ffA",
            "id-2013-00ffAA00ffAg",
            "id-201é-0ffAA00ffAA",
            "id-2013-00ffAA00ff\u0660",
        ),
    ),
    pattern(
        "^(?:[A-Z]{2})(?:[0-9]{14})(?:--)$".replace("--", r"\-"),
        ("AB12345678901234-",),
        ("A112345678901234-", "AB1234567890123A-", "AB12345678901234_", "AB12345678901234-\n", "AÉ1234567890123-"),
    ),
    pattern(
        "^[A-Z0-9]{6,10}$", ("TAXI00", "TAXI001234"), ("TAXI0", "TAXI0012345", "taxi00", "TAXI0\n", "TAXÉI", "TAXI 00")
    ),
    pattern("^-- x /\\* `c` %s \\{y\\}$", ("-- x /* `c` %s {y}",), ("x",)),
]
FORMATS = [
    of_format(
        "email", "a@b a.b+c@d-e.example o'x@y.z", f"a a@ @b a@-b a@b- a@b..c a@b@c {'a' * 300}@{'b.' * 100_000}c"
    ),
    of_format(
        "uuid",
        "123e4567-e89b-12d3-a456-426614174000 123E4567-E89B-12D3-A456-426614174000",
        "123e4567e89b12d3a456426614174000 123e4567-e89b-12d3-a456-42661417400 g23e4567-e89b-12d3-a456-426614174000",
    ),
    of_format(
        "uri",
        "https://example.com/a?b=c#d mailto:a@b urn:x:y s3://b/k%20 http://[::1]:80/",
        "example.com //x/y 1http://x http: http://a%2 http://é http://a|b " + "a:" + "%20" * 100_000,
    ),
    of_format(
        "hostname",
        f"a a-b.example 1.2 {'a' * 63}.b",
        f"-a a- a..b .a a. a_b é {'a' * 64} {'a.' * 126}ab {'a.' * 100_000}b",
    ),
    of_format("ipv4", "0.0.0.0 255.249.199.9 10.20.30.40", "256.0.0.1 1.2.3 1.2.3.4.5 01.2.3.4 1.2.3.4/8 a.b.c.d"),
    of_format(
        "ipv6",
        ":: ::1 1:: 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1::8 fe80::1:2 ::ffff:1.2.3.4 1:2:3:4:5:6:1.2.3.4 "
        "2001:DB8::A",
        "1 : ::: 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1::2::3 12345::1 g::1 1.2.3.4 ::256.1.1.1 fe80::1%eth0 "
        "1:2:3:4:5:6:7:8::",
    ),
    of_format(
        "date", "2013-12-31 2012-02-29 0001-01-01", "2013-02-29 2013-13-01 2013-1-1 20131231 2013-04-31 2013-12-31Z"
    ),
    of_format(
        "time", "00:00:00 23:59:59.123456789 12:00:00Z 12:00:00+01:00", "24:00:00 1:00:00 12:00 12:00:60 12:00:00+1"
    ),
    of_format(
        "date-time",
        "2013-12-31T23:59:59Z 2013-12-31t00:00:00.5-05:30",
        "2013-12-31 2013-12-31T23:59:59 2013-02-29T00:00:00Z 2013-12-31T24:00:00Z 2013-12-31T23:59:59ZZ",
    ),
    Texts(
        option="format", value="byte", right=("", "YQ==", "YWI=", "YWJj"), wrong=("a", "YQ=", "Y===", "YQ==YQ==", "é")
    ),
]
LENGTHS = [
    Texts(option="minLength", value=1, right=("a", " ", "\n", "\x00"), wrong=("",)),
    Texts(option="minLength", value=2, right=("ab", "é😀", "  "), wrong=("", "a", "é", "😀")),
    Texts(option="maxLength", value=2, right=("", "ab", "é😀", "😀😀"), wrong=("abc", "   ", "😀😀😀")),
    Texts(option="maxLength", value=0, right=("",), wrong=(" ",)),
]
TEXTS = [*PATTERNS, *FORMATS, *LENGTHS]

REFUSED = {
    "(": "is no regular expression",
    "a**": "is no regular expression",
    "(a)\\1": "engines do not agree",
    "\\bword": "a boundary of words is not supported",
    "(?=a)": "engines do not agree",
    "(?<!a)b": "engines do not agree",
    "(?<name>a)": "engines do not agree",
    "(?i)a": "engines do not agree",
    "(?P<n>a)": "engines do not agree",
    "a{,3}": "engines do not agree",
    "a++": "engines do not agree",
    "\\p{L}": "is no regular expression",
    "\\A": "is not supported",
    "\\Z": "is not supported",
    "\\a": "engines do not agree",
    "\\0": "engines do not agree",
    "\\U0001F600": "engines do not agree",
    "\\ud83d\\ude00": "engines do not agree",
    "^[]a]$": "[] is not supported",
    "x\\[[a[][^]b]": "[^] is not supported",
    "a{1001}": "more than 1,000 repetitions",
    "a{1001,}": "more than 1,000 repetitions",
    r"^([a-z0-9-]{1,63}\.){1,20}[a-z]{2,63}$": "those within others multiply",
    "^(?:a|(?:b{0,101}c?)+){10}$": "those within others multiply",
    "[\\Sa]": "holds everything but something",
    "^(?:a+)+$": "repeat once, as a+ does in the place of (a+)+",
    "^[a-z]+[a-z0-9]*$": "side by side",
}
