"""The vocabulary of contracts as tables for docs/reference/contract-words.md.

`python -m tests.support.vocabulary` writes them.

It changes nothing outside the two marks in the page.
"""

from __future__ import annotations

from pathlib import Path

from lakegate.contracts.checks.custom import CUSTOM
from lakegate.contracts.checks.quality import LIBRARY
from lakegate.contracts.odcs import vocabulary

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference/contract-words.md"
BEGIN, END = "<!-- words: begin -->", "<!-- words: end -->"

MEANS = {
    vocabulary.Answer.RULE: "files and tables are held to it",
    vocabulary.Answer.DESCRIBES: "it is for people and other tools, and changes nothing",
    vocabulary.Answer.ERROR: "it would constrain data, and lakegate does not check it: `contract check` and "
    "`contract push` say so with its line",
}

PLACES = {
    "The contract": vocabulary.CONTRACT,
    "`servers[]`, the one named `landing`": vocabulary.SERVER,
    "`schema[]`, the table": vocabulary.TABLE,
    "`properties[]`, a column": vocabulary.COLUMN,
    "`enum[]` of a column": vocabulary.ENUM_VALUE,
    "`logicalTypeOptions` of `integer`": vocabulary.INTEGER_OPTIONS,
    "`logicalTypeOptions` of `number`": vocabulary.NUMBER_OPTIONS,
    "`logicalTypeOptions` of `date`": vocabulary.DATE_OPTIONS,
    "`logicalTypeOptions` of `timestamp`": vocabulary.TIMESTAMP_OPTIONS,
    "`logicalTypeOptions` of `string`": vocabulary.STRING_OPTIONS,
    "`logicalTypeOptions` of `object`": vocabulary.OBJECT_OPTIONS,
    "`logicalTypeOptions` of `array`": vocabulary.ARRAY_OPTIONS,
    "`map` of a column of type `map`": vocabulary.MAP,
    "`logicalTypeOptions` of `physicalType: binary`": vocabulary.BINARY_OPTIONS,
    "`quality[]`, of a column or of the table": vocabulary.QUALITY,
    "`slaProperties[].property`": vocabulary.SLA,
    "`relationships[]`, of a column or of the table": vocabulary.RELATIONSHIP,
    "`customProperties[].property` of the landing server with `vendor: lakegate`": vocabulary.SERVER_SETTINGS,
    "`customProperties[].property` of the table with `vendor: lakegate`": vocabulary.TABLE_SETTINGS,
    "`customProperties[].property` of a column with `vendor: lakegate`": vocabulary.COLUMN_SETTINGS,
    "`customProperties[].property` of a check in `quality` with `vendor: lakegate`": vocabulary.QUALITY_SETTINGS,
}


OWN = "with `vendor: lakegate`"  # places that are not the standard's


def conformance() -> str:
    """Return how many words of the standard have which answer."""
    of_standard = [it for title, place in PLACES.items() if OWN not in title for it in place.values()]
    counts = [(answer, sum(it.answer is answer for it in of_standard)) for answer in vocabulary.Answer]
    rows = [f"| {answer.value} | {count} | {MEANS[answer]} |" for answer, count in counts]
    return "\n".join(["| answer | words | what it means |", "|---|---|---|", *rows, ""])


def tables() -> str:
    """Every table, each under its heading."""
    return "\n".join([conformance(), *(_table(title, place) for title, place in PLACES.items()), _library(), _custom()])


def _table(title: str, place: vocabulary.Place) -> str:
    rows = [f"| `{word}` | {it.answer.value} | {it.remark} |" for word, it in _by_answer(place)]
    return "\n".join([f"## {title}", "", "| word | | |", "|---|---|---|", *rows, ""])


def _by_answer(place: vocabulary.Place) -> list[tuple[str, vocabulary.Word]]:
    order = list(vocabulary.Answer)
    return sorted(place.items(), key=lambda entry: order.index(entry[1].answer))


def _library() -> str:
    rows = [
        f"| `{metric}` | {level} | {', '.join(f'`{word}`' for word in rule.arguments)} | {rule.remark} |"
        for (metric, level), rule in LIBRARY.items()
    ]
    head = [
        "## `metric` of a check of type `library`",
        "",
        "| metric | of | arguments | counts |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _custom() -> str:
    rows = [f"| `{word}` | {level} | {rule.remark} |" for (word, level), rule in CUSTOM.items()]
    head = ["## `implementation` of a check of type `custom` with `engine: lakegate`", ""]
    return "\n".join([*head, "| word | of | |", "|---|---|---|", *rows, ""])


def written() -> str:
    """Return what stands in the page between the marks."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()


def main() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables().strip()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
