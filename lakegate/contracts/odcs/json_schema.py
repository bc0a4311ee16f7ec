"""A document against the standard's own JSON schema: types, fixed values, missing words. It knows no meanings.

Unknown words at the places that lakegate reads are the vocabulary's matter; the schema answers for the sections that
only describe.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

from jsonschema import Draft201909Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from lakegate.contracts.columns.types import logical_of, physical
from lakegate.contracts.odcs.document import MOST_FAULTS, Document, Path
from lakegate.contracts.odcs.examples import EXAMPLES
from lakegate.contracts.odcs.vocabulary import hint

_A = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}


def check_json_schema(document: Document) -> None:
    """Note a fault for everything that the standard's schema objects to; an unreadable place is closed to later
    steps.
    """
    errors = _validator().iter_errors(_with_types(document.root))
    for error in sorted(islice(errors, MOST_FAULTS * 10), key=lambda error: error.message):
        for path, message, write in (
            explanation for alternative in _of_fitting_alternative(error) for explanation in _explain(alternative)
        ):
            if any(path[:end] in document.closed_paths for end in range(1, len(path) + 1)):
                continue
            if write is None:
                document.close(path, message)
            else:
                document.fault(path, message, write)


def _with_types(value: Any) -> Any:
    """Return the document with each column's logical type. The standard chooses the options by it, and a
    physical type alone means a logical one, too.
    """
    if isinstance(value, list):
        return [_with_types(part) for part in value]
    if not isinstance(value, dict):
        return value
    document = {word: _with_types(part) for word, part in value.items()}
    if "logicalType" not in document and isinstance(physical_name := document.get("physicalType"), str):
        with suppress(ValueError):  # the fault is recorded where types are read
            document["logicalType"] = logical_of(physical(physical_name))
    return document


def server_words(server_type: str) -> set[str]:
    """Return the words that the standard has for a server of this type."""
    server = _standard()["$defs"]["Server"]
    words = set(server["properties"])
    for condition in server["allOf"]:
        if condition["if"]["properties"]["type"]["const"] == server_type:
            source = condition["then"]["$ref"].rsplit("/", 1)[1]
            words |= set(_standard()["$defs"]["ServerSource"][source].get("properties", {}))
    return words


def _of_fitting_alternative(error: ValidationError) -> Iterator[ValidationError]:
    """Yield, for an error in every alternative, the errors of the one alternative that has the value's kind."""
    alternatives: dict[object, list[ValidationError]] = {}
    for suberror in error.context or ():
        alternatives.setdefault(suberror.relative_schema_path[0], []).append(suberror)
    alternatives_of_kind = [
        errors
        for errors in alternatives.values()
        if not any(
            suberror.validator == "type" and suberror.absolute_path == error.absolute_path for suberror in errors
        )
    ]
    if not alternatives_of_kind:
        yield error
    for suberror in alternatives_of_kind[0] if alternatives_of_kind else ():
        yield from _of_fitting_alternative(suberror)


def _explain(error: ValidationError) -> Iterator[tuple[Path, str, str | None]]:
    """Yield where, what, and the lines that are missing there; None if the value there can no longer be read."""
    path: Path = tuple(error.absolute_path)
    word = next((repr(step) for step in reversed(path) if isinstance(step, str)), "the contract")
    value: Any = error.instance
    target: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "required":
            for word_missing in (name for name in target if name not in value):
                yield path, f"{word_missing!r} is missing", EXAMPLES.get(word_missing, "")
        case "additionalProperties":
            words = schema["properties"]
            for extra in (name for name in value if name not in words):
                yield (*path, extra), f"{extra!r} is not a word of ODCS{hint(extra, words)}", None
        case "type":
            kinds = [target] if isinstance(target, str) else target
            yield path, f"{word} must be {' or '.join(_A[kind] for kind in kinds)}{_not(value)}", None
        case "not" if isinstance(target, dict) and "required" in target:
            yield path, f"{', '.join(map(repr, target['required']))} does not belong there", None
        case "enum":
            near = hint(value, target) if isinstance(value, str) else ""
            yield path, f"{word} is {_display(value)}, and it can be {', '.join(map(str, target))}{near}", None
        case "oneOf" | "anyOf":
            yield path, f"{word} is {_display(value)}, which the standard does not allow there", None
        case _:
            yield path, f"{word}: {error.message[:200]}", None


def _not(value: Any) -> str:
    if value is None:
        return ", and nothing is there"
    return f", not {_display(value)}"


def _display(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return json.dumps(value, ensure_ascii=False)[:60]


@cache
def _standard() -> dict[str, Any]:
    text = files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
    standard: dict[str, Any] = json.loads(text)
    return standard


def _unique(_validator: Any, is_unique: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Yield an error for each repeated value. The library's own check compares each with each, which takes minutes for
    an enum of ten thousand values.
    """
    if is_unique and isinstance(value, list):
        for text, times in Counter(json.dumps(entry, sort_keys=True) for entry in value).items():
            if times > 1:
                yield ValidationError(f"{text[:60]} is there {times} times")


_Validator: Any = extend(Draft201909Validator, {"uniqueItems": _unique})  # type: ignore[no-untyped-call]


@cache
def _validator() -> Draft201909Validator:
    schema = _adapt(_standard())
    del schema["additionalProperties"]  # the vocabulary checks these
    schema["properties"]["description"]["additionalProperties"] = False  # forgotten in the standard
    for operators in ("DataQualityLibrary", "DataQualitySql"):
        del schema["$defs"][operators]["allOf"]  # exactly one operator: `quality` notes that by name
    quality = schema["$defs"]["DataQuality"]["properties"]
    quality |= schema["$defs"]["DataQualityLibrary"]["properties"]  # for any type: otherwise a metric may be a list
    validator: Draft201909Validator = _Validator(schema)
    return validator


def _adapt(node: Any) -> Any:
    """Return the schema without what the vocabulary answers for; an absent logicalType no longer meets its
    conditions.
    """
    if isinstance(node, list):
        return [_adapt(item) for item in node]
    if not isinstance(node, dict):
        return node
    node_copy = {word: _adapt(value) for word, value in node.items() if word != "unevaluatedProperties"}
    if isinstance(options := node_copy.get("logicalTypeOptions"), dict):
        options.pop("additionalProperties", None)
    if set(node_copy) == {"properties"} and "logicalType" in node_copy["properties"]:
        node_copy["required"] = ["logicalType"]
    return node_copy
