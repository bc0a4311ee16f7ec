"""The vocabulary against the standard's own JSON schema, and the pages on contracts against the vocabulary."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest

from lakegate.contracts import load
from lakegate.contracts.columns.types import LOGICAL, TYPES
from lakegate.contracts.metrics.texts import FORMATS
from lakegate.contracts.odcs import vocabulary
from tests.support.vocabulary import DOCS, PLACES, tables, written

STANDARD: dict[str, Any] = json.loads(files("open_data_contract_standard").joinpath("schema.json").read_text())
DEFINED = STANDARD["$defs"]


def text(page: str) -> str:
    return (DOCS / page).read_text()


def of(*definitions: str) -> set[str]:
    return {word for name in definitions for word in DEFINED[name]["properties"]}


def options(logical: str) -> set[str]:
    """The options that the standard has for a logical type."""
    for condition in DEFINED["SchemaBaseProperty"]["allOf"][1:]:
        if logical in json.dumps(condition["if"]):
            return set(condition["then"]["properties"]["logicalTypeOptions"]["properties"])
    raise AssertionError(logical)


OPERATORS = {word for each in DEFINED["DataQualityOperators"]["oneOf"] for word in each["properties"]}
S3 = set(DEFINED["ServerSource"]["S3Server"]["properties"])


@pytest.mark.parametrize(
    ("place", "standard"),
    [
        (vocabulary.CONTRACT, set(STANDARD["properties"])),
        (vocabulary.SERVER, of("Server") | S3),
        (vocabulary.TABLE, of("SchemaElement", "SchemaObject")),
        (vocabulary.COLUMN, of("SchemaElement", "SchemaBaseProperty") | {"properties", "items", "map"}),
        (vocabulary.ENUM_VALUE, of("EnumValue")),
        (
            vocabulary.QUALITY,
            of("DataQuality", "DataQualityLibrary", "DataQualitySql", "DataQualityCustom") | OPERATORS,
        ),
        (vocabulary.INTEGER_OPTIONS, options("integer")),
        (vocabulary.NUMBER_OPTIONS, options("number")),
        (vocabulary.STRING_OPTIONS, options("string")),
        (vocabulary.OBJECT_OPTIONS, options("object")),
        (vocabulary.ARRAY_OPTIONS, options("array")),
        (vocabulary.MAP, {"key", "value"}),
        (vocabulary.DATE_OPTIONS, options("date")),
        (vocabulary.TIMESTAMP_OPTIONS, options("timestamp")),
    ],
)
def test_every_word_of_the_standard_has_an_answer_and_no_other_has(place: vocabulary.Place, standard: set[str]) -> None:
    assert set(place) == standard


def test_every_operator_of_the_standard_is_known() -> None:
    assert set(vocabulary.OPERATORS) == OPERATORS


def test_the_places_whose_words_the_schema_leaves_open_are_those_that_the_vocabulary_watches() -> None:
    open_places = [name for name, definition in DEFINED.items() if "unevaluatedProperties" in definition]

    assert open_places == [
        "Server",
        "SchemaObject",
        "SchemaBaseProperty",
        "SchemaProperty",
        "SchemaItemProperty",
        "DataQuality",
        "RelationshipSchemaLevel",
        "RelationshipPropertyLevel",
    ]


def test_the_page_has_every_word() -> None:
    assert written() == tables().strip(), "run: make reference"


def test_no_place_with_words_is_missing_from_the_page() -> None:
    places = {
        name for name, value in vars(vocabulary).items() if isinstance(value, dict) and name[0].isupper() and value
    }

    assert len(PLACES) == len(places - {"DECIMAL_OPTIONS"})


def test_the_page_s_first_contract_loads() -> None:
    (contract,) = re.findall(r"```yaml\n(apiVersion.*?)```", text("how-to/write-a-contract.md"), re.DOTALL)

    assert load(contract, "write-a-contract.md").table == "shop.orders"


def test_the_page_has_every_type_and_logical_type() -> None:
    page = text("reference/types.md")

    assert [name for name in (*TYPES, *LOGICAL) if f"`{name}`" not in page] == []
    assert [
        name for name in DEFINED["SchemaBaseProperty"]["properties"]["logicalType"]["enum"] if f"`{name}`" not in page
    ] == []


def test_the_page_has_every_format_of_a_text() -> None:
    page = text("how-to/checks.md")

    assert [name for name, known in FORMATS.items() if f"| `{name}` | {known.remark}" not in page] == []
