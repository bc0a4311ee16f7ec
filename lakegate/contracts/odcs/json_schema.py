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
        for path, message, write in (told for fitting in _of_fitting_alternative(error) for told in _explain(fitting)):
            if any(path[:end] in document.closed for end in range(1, len(path) + 1)):
                continue
            if write is None:
                document.close(path, message)
            else:
                document.fault(path, message, write)


def _with_types(value: Any) -> Any:
    """Return the document with each column's logical type. The standard tells by it which options there are, and a
    physical type alone means a logical one, too.
    """
    if isinstance(value, list):
        return [_with_types(each) for each in value]
    if not isinstance(value, dict):
        return value
    typed = {word: _with_types(each) for word, each in value.items()}
    if "logicalType" not in typed and isinstance(said := typed.get("physicalType"), str):
        with suppress(ValueError):  # the fault is noted where types are read
            typed["logicalType"] = logical_of(physical(said))
    return typed


def server_words(server_type: str) -> set[str]:
    """Return the words that the standard has for a server of this type."""
    server = _standard()["$defs"]["Server"]
    known = set(server["properties"])
    for condition in server["allOf"]:
        if condition["if"]["properties"]["type"]["const"] == server_type:
            source = condition["then"]["$ref"].rsplit("/", 1)[1]
            known |= set(_standard()["$defs"]["ServerSource"][source].get("properties", {}))
    return known


def _of_fitting_alternative(error: ValidationError) -> Iterator[ValidationError]:
    """Yield, for an error in every alternative, the errors of the one alternative that has the value's kind."""
    alternatives: dict[object, list[ValidationError]] = {}
    for each in error.context or ():
        alternatives.setdefault(each.relative_schema_path[0], []).append(each)
    fitting = [
        errors
        for errors in alternatives.values()
        if not any(each.validator == "type" and each.absolute_path == error.absolute_path for each in errors)
    ]
    if not fitting:
        yield error
    for each in fitting[0] if fitting else ():
        yield from _of_fitting_alternative(each)


def _explain(error: ValidationError) -> Iterator[tuple[Path, str, str | None]]:
    """Yield where, what, and the lines that are missing there; None if the value there can no longer be read."""
    path: Path = tuple(error.absolute_path)
    word = next((repr(step) for step in reversed(path) if isinstance(step, str)), "the contract")
    value: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "required":
            for missing in (name for name in wanted if name not in value):
                yield path, f"{missing!r} is missing", EXAMPLES.get(missing, "")
        case "additionalProperties":
            known = schema["properties"]
            for extra in (name for name in value if name not in known):
                yield (*path, extra), f"{extra!r} is not a word of ODCS{hint(extra, known)}", None
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            yield path, f"{word} must be {' or '.join(_A[kind] for kind in kinds)}{_not(value)}", None
        case "not" if isinstance(wanted, dict) and "required" in wanted:
            yield path, f"{', '.join(map(repr, wanted['required']))} does not belong there", None
        case "enum":
            near = hint(value, wanted) if isinstance(value, str) else ""
            yield path, f"{word} is {_shown(value)}, and it can be {', '.join(map(str, wanted))}{near}", None
        case "oneOf" | "anyOf":
            yield path, f"{word} is {_shown(value)}, which the standard does not allow there", None
        case _:
            yield path, f"{word}: {error.message[:200]}", None


def _not(value: Any) -> str:
    if value is None:
        return ", and nothing is there"
    return f", not {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return json.dumps(value, ensure_ascii=False)[:60]


@cache
def _standard() -> dict[str, Any]:
    text = files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
    standard: dict[str, Any] = json.loads(text)
    return standard


def _unique(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Yield an error for each repeated value. The library's own check compares each with each, which takes minutes for
    an enum of ten thousand values.
    """
    if wanted and isinstance(value, list):
        for text, times in Counter(json.dumps(each, sort_keys=True) for each in value).items():
            if times > 1:
                yield ValidationError(f"{text[:60]} is there {times} times")


_Validator: Any = extend(Draft201909Validator, {"uniqueItems": _unique})  # type: ignore[no-untyped-call]


@cache
def _validator() -> Draft201909Validator:
    schema = _adapted(_standard())
    del schema["additionalProperties"]  # the vocabulary checks these
    schema["properties"]["description"]["additionalProperties"] = False  # forgotten in the standard
    for operators in ("DataQualityLibrary", "DataQualitySql"):
        del schema["$defs"][operators]["allOf"]  # exactly one operator: `quality` notes that by name
    quality = schema["$defs"]["DataQuality"]["properties"]
    quality |= schema["$defs"]["DataQualityLibrary"]["properties"]  # for any type: otherwise a metric may be a list
    made: Draft201909Validator = _Validator(schema)
    return made


def _adapted(node: Any) -> Any:
    """Return the schema without what the vocabulary answers for; an absent logicalType no longer meets its
    conditions.
    """
    if isinstance(node, list):
        return [_adapted(item) for item in node]
    if not isinstance(node, dict):
        return node
    adapted = {word: _adapted(value) for word, value in node.items() if word != "unevaluatedProperties"}
    if isinstance(options := adapted.get("logicalTypeOptions"), dict):
        options.pop("additionalProperties", None)
    if set(adapted) == {"properties"} and "logicalType" in adapted["properties"]:
        adapted["required"] = ["logicalType"]
    return adapted
