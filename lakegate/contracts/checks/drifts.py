"""Drift of a number of the file against the files that were published before it: which numbers, and how far back."""

from collections.abc import Callable, Mapping, Sequence

from lakegate.audit.model.plan import Comparison, Drift, Metric
from lakegate.contracts.checks.custom_rules import numeric
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.metrics import aggregates
from lakegate.contracts.metrics.metric import row_count
from lakegate.contracts.metrics.rows import nulls
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.vocabulary import Answer, Word, check_words, hint, one_of

FILES, AT_LEAST, MOST_FILES = 30, 5, 1_000
_FEWEST = 2  # files that a deviation needs
_WORDS = ("of", "files", "atLeast", "as")
OF_COLUMN: Mapping[str, Callable[[Field], Metric]] = {
    "mean": aggregates.mean,
    "median": aggregates.median,
    "standardDeviation": aggregates.standard_deviation,
    "sum": aggregates.total,
    "minimum": aggregates.least,
    "maximum": aggregates.greatest,
    "distinctValues": aggregates.distinct,
    "nullValues": nulls,
}
_OF_ANY = ("distinctValues", "nullValues")


def of_column(fields: Sequence[Field], value: Item) -> Metric | None:
    """Return a statistic of the column, by default the mean."""
    (field,), name = fields, _of(value, "mean", OF_COLUMN)
    if name is None:
        return None
    return OF_COLUMN[name](field) if name in _OF_ANY or numeric(field, value, name) else None


def of_table(_fields: Sequence[Field], value: Item) -> Metric | None:
    """Count the file's rows, which is all that there is of a table."""
    return row_count() if _of(value, "rowCount", ("rowCount",)) else None


def drift(value: Item) -> Drift | None:
    """Return what the number is compared with; return None, and note a fault, if that makes no sense."""
    if not isinstance(value.value, dict):
        value.fault("drift takes a mapping, such as {of: rowCount, files: 30, as: rate}")
        return None
    check_words(value, {word: Word(answer=Answer.RULE) for word in _WORDS}, vocabulary="a drift")
    files = _whole(value, "files", FILES)
    least = _whole(value, "atLeast", min(AT_LEAST, files or AT_LEAST))
    comparison = one_of(entry, Comparison, "as") if (entry := value.get("as")) else Comparison.RATE
    if files is None or least is None or comparison is None:
        return None
    if least > files:
        value.fault(f"atLeast is {least}, and only {files} files are looked at")
        return None
    return Drift(comparison=comparison, files=files, at_least=least)


def drift_text(value: Item, columns: Sequence[str]) -> str:
    """Return the name that people read: `mean of amount against the last 30 files`."""
    of = value.plain("of") or ("mean" if columns else "rowCount")
    return f"{of}{' of ' if columns else ''}{', '.join(columns)} against the last {value.plain('files', FILES)} files"


def _of(value: Item, default: str, names: Mapping[str, object] | Sequence[str]) -> str | None:
    if not isinstance(value.value, dict):
        return None
    name = value.plain("of", default)
    if not isinstance(name, str) or name not in names:
        (value.get("of") or value).fault(f"no drift of {name!r} here{hint(str(name), names)}: {', '.join(names)}")
        return None
    return name


def _whole(value: Item, word: str, default: int) -> int | None:
    number = value.plain(word, default)
    if isinstance(number, bool) or not isinstance(number, int) or not _FEWEST <= number <= MOST_FILES:
        (value.get(word) or value).fault(
            f"{word} is {number!r}, and it is a whole number from {_FEWEST} to {MOST_FILES:,}"
        )
        return None
    return number
