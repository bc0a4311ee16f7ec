"""Metrics of texts: rows that are too short, too long, like a pattern or unlike it, or not of a format.

A format is a pattern and, if no pattern can say it all, a condition besides. Lengths count characters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from lakegate.audit.model.plan import Metric, Proof
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.metrics.metric import NothingToCheck, failing_rows
from lakegate.contracts.regex import prefilter
from lakegate.contracts.regex.portable import Portable, portable

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LONGEST_LABEL = 63
_MOST_OCTETS = 4  # of a character
_USUAL = "[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*"  # labels, of texts that are no longer than one may be
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = r"\.".join([_OCTET] * 4)  # written out, because an engine is slow to repeat a group
_HEX = "[0-9A-Fa-f]{1,4}"
_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
_OFFSET = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_URI = r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]"


def _ipv6() -> str:
    """Return the pattern of eight groups, the last two of them perhaps as IPv4, or `::` for as many as are missing."""
    last = f"(?:{_HEX}:{_HEX}|{_IPV4})"
    whole = [f"(?:{_HEX}:){{6}}{last}"]
    for before in range(6):
        start = f"(?:{_HEX}(?::{_HEX}){{0,{before - 1}}})?" if before else ""
        after = 5 - before
        whole.append(f"{start}::(?:{_HEX}:){{0,{after}}}{last}" if after else f"{start}::{last}")
    whole.append(f"(?:{_HEX}(?::{_HEX}){{0,5}})?::{_HEX}")
    whole.append(f"(?:{_HEX}(?::{_HEX}){{0,6}})?::")
    return "|".join(whole)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format's pattern of a whole text, its longest length, and a condition besides. Most of the texts that have no
    more characters than a label match `usual`, which is less work for an engine.
    """

    pattern: str
    remark: str
    usual: str = ""
    longest: int | None = None
    condition: Callable[[exp.Expr], exp.Expr] | None = None


def _is_day(text: exp.Expr) -> exp.Expr:
    """Return the condition that the first ten characters are a day of the calendar."""
    day = exp.Substring(this=text, start=exp.Literal.number(1), length=exp.Literal.number(10))
    cast = exp.TryCast(this=day, to=exp.DataType.build("date"))
    return exp.Not(this=exp.Is(this=cast, expression=exp.null()))


FORMATS: Mapping[str, Format] = {
    "email": Format(
        pattern=rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*",
        usual=f"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_USUAL}",
        longest=320,
        remark="as HTML's forms take it, of 320 characters at most",
    ),
    "uuid": Format(
        pattern="-".join(f"[0-9A-Fa-f]{{{digits}}}" for digits in (8, 4, 4, 4, 12)), remark="with its hyphens"
    ),
    "uri": Format(
        pattern=rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{_URI}|%[0-9A-Fa-f]{{2}}){_URI}*(?:%[0-9A-Fa-f]{{2}}{_URI}*)*",
        longest=2_048,
        remark="a scheme, a colon and characters that RFC 3986 allows, of 2,048 characters at most",
    ),
    "hostname": Format(pattern=rf"{_LABEL}(?:\.{_LABEL})*", usual=_USUAL, longest=253, remark="RFC 1123"),
    "ipv4": Format(pattern=_IPV4, remark="four numbers to 255, without leading zeros"),
    "ipv6": Format(pattern=_ipv6(), remark="RFC 4291's spellings, without a zone"),
    "byte": Format(
        pattern="(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", remark="base64, with its padding"
    ),
    "date": Format(pattern=_DAY, condition=_is_day, remark="`2013-12-31`"),
    "time": Format(pattern=f"{_CLOCK}{_OFFSET}?", remark="`23:59:59`, with or without an offset"),
    "date-time": Format(pattern=f"{_DAY}[Tt]{_CLOCK}{_OFFSET}", condition=_is_day, remark="RFC 3339, with its offset"),
}
DESCRIBING = ("password", "binary")
"""Formats that say nothing about which texts are right."""


def shorter(field: Field, length: int) -> Metric:
    """Count the rows with a shorter text. A lower bound can prove that no text is empty."""
    proof = Proof(column=field.name, minimum="", exclusive_minimum=True) if length == 1 else None
    short = exp.LT(this=_length(field), expression=exp.Literal.number(length))
    is_long_enough = exp.GTE(this=prefilter.octets(field.value), expression=exp.Literal.number(length * _MOST_OCTETS))
    return failing_rows(field, short, proof, passes=is_long_enough)


def longer(field: Field, length: int) -> Metric:
    """Count the rows with a longer text."""
    limit = exp.Literal.number(length)
    is_short = exp.LTE(this=prefilter.octets(field.value), expression=limit)
    return failing_rows(field, exp.GT(this=_length(field), expression=limit.copy()), passes=is_short)


def proved_by_pattern(length: Metric, pattern: Metric) -> Metric:
    """Return the metric of a length with the cheap condition of a pattern that no text of a wrong length has. The
    condition shows both, and Spark asks it once for both.
    """
    return replace(length, passes=pattern.passes or length.passes)


def without_pattern(field: Field, pattern: str) -> Metric:
    """Count the rows that have the pattern nowhere. Raise ValueError if engines would not agree on it, or never be
    done.
    """
    portable_pattern = _portable(pattern, is_good=True)
    quickly = prefilter.has(field.value, pattern) if portable_pattern.longest is None else None  # it knows no lengths
    passes = quickly or prefilter.is_like(field.value, portable_pattern.text, portable_pattern.longest)
    return failing_rows(field, _without(field, portable_pattern.text, portable_pattern.longest), passes=passes)


def with_pattern(field: Field, pattern: str) -> Metric:
    """Count the rows that have the pattern somewhere. A text that is too long to be asked counts too, unless none with
    the pattern is as long: a row that may be wrong is not published. Raise ValueError as `without_pattern` does.
    """
    portable_pattern = _portable(pattern, is_good=False)
    matches = _matches(field, portable_pattern.text)
    if portable_pattern.longest is None:
        return failing_rows(field, matches)
    _, greatest = prefilter.lengths(pattern)
    may = exp.true() if greatest is None else exp.LTE(this=_length(field), expression=exp.Literal.number(greatest))
    return failing_rows(field, _if_longer(field, portable_pattern.longest, may, matches))


def _portable(pattern: str, *, is_good: bool) -> Portable:
    """Return the pattern. Refuse one that surely every text has, or none."""
    portable_pattern = portable(pattern)
    if portable_pattern.of_every or portable_pattern.of_none:
        text, can = (
            "every" if portable_pattern.of_every else "no",
            "fail" if portable_pattern.of_every is is_good else "pass",
        )
        kind = "right" if is_good else "wrong"
        raise NothingToCheck(
            f"{text} text has it, so that none can {can}: write what a {kind} text has, such as ^[A-Z]{{3}}$"
        )
    return portable_pattern


def whole(name: str) -> str:
    """Return the pattern of a format, a name among FORMATS."""
    return f"^(?:{FORMATS[name].pattern})$"


def not_of_format(field: Field, name: str) -> Metric:
    """Count the rows that are not of the format, a name among FORMATS."""
    known_format = FORMATS[name]
    text = portable(whole(name)).text
    wrong = _without(field, text, known_format.longest)
    if known_format.condition:
        has_value = exp.Not(this=exp.Is(this=field.value, expression=exp.null()))
        breaks_rule = exp.And(
            this=has_value, expression=exp.Not(this=exp.Paren(this=known_format.condition(field.value)))
        )
        return failing_rows(field, exp.Or(this=wrong, expression=exp.Paren(this=breaks_rule)))
    if known_format.usual:
        usual = portable(f"^{known_format.usual}$").text
        return failing_rows(field, wrong, passes=prefilter.is_like(field.value, usual, _LONGEST_LABEL))
    passes = prefilter.has(field.value, whole(name)) or prefilter.is_like(field.value, text, known_format.longest)
    return failing_rows(field, wrong, passes=passes)


def _length(field: Field) -> exp.Expr:
    return exp.Length(this=field.value)


def _matches(field: Field, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=field.value, expression=exp.Literal.string(pattern))


def _without(field: Field, pattern: str, longest: int | None) -> exp.Expr:
    """Return the condition that a text does not have the pattern. One that is too long is not shown to the engine at
    all.
    """
    wrong = exp.Not(this=_matches(field, pattern))
    return wrong if longest is None else _if_longer(field, longest, exp.true(), wrong)


def _if_longer(field: Field, length: int, result: exp.Expr, default: exp.Expr) -> exp.Expr:
    longer = exp.GT(this=_length(field), expression=exp.Literal.number(length))
    return exp.Case(ifs=[exp.If(this=longer, true=result)], default=default)
