"""Contracts that must not load: each with its line and what the message says. It asserts the whole list of faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contracts import load
from lakegate.contracts.odcs.document import DEEPEST, LARGEST
from lakegate.errors import ContractFaults, Fault

GOOD = (Path(__file__).parent / "shop.yaml").read_text()

ORDERS = "  - name: orders\n"
COLUMNS = "    physicalName: shop.orders\n    properties:\n"
AMOUNT = "      - name: amount\n"
TAGS = "      - name: tags\n        logicalType: array\n"
BOUNDS = "{exclusiveMinimum: 0, maximum: 1000.5}"
QUALITY = "          - metric: nullValues\n"
CSV = GOOD.replace("format: parquet", "format: csv")
OPERATOR = "            mustBeLessThan: 5\n"
CHECK = GOOD[GOOD.index(QUALITY) : GOOD.index(OPERATOR) + len(OPERATOR)]
CUSTOM = "          - type: custom\n            engine: lakegate\n"
TRANSFORM = "{property: partitionTransform, vendor: lakegate, value: days}"
DECIMAL = "      - {{name: {}, physicalType: '{}', partitioned: true, customProperties: [{}]}}\n"
IDENTITY, CUT, BUCKET = (TRANSFORM.replace("days", f"'{how}'") for how in ("identity", "truncate[5]", "bucket[16]"))
PLACED = "        logicalType: timestamp\n"
OURS = "    customProperties:\n      - {{property: {}, vendor: lakegate, value: {}}}"
BUDGET = "    customProperties: [{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}]\n"
STATES = "[{value: open}, {value: paid}]"

PHYSICAL = "      - {{name: p, physicalType: {}, logicalTypeOptions: {}}}\n" + AMOUNT

# What in the good contract becomes what, and each fault as (a text on its line, a part of its message).
CASES: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "misspelt word of a column": (
        "required: true",
        "requried: true",
        [("requried", "'requried' is not a word of ODCS (did you mean 'required'?)")],
    ),
    "misspelt word of the contract": ("status:", "statsu:", [("statsu", "did you mean 'status'?")]),
    "misspelt word of the server": (
        "    format:",
        "    fromat: x\n    format:",
        [("fromat", "did you mean 'format'?")],
    ),
    "misspelt word of another server": (
        "  - server: landing",
        "  - {server: dev, type: kafka, host: h, fromat: x}\n  - server: landing",
        [("fromat", "a server of type kafka (did you mean 'format'?)")],
    ),
    "SQL for a length where the logical type is left out": (
        AMOUNT,
        PHYSICAL.format("string", "{minLength: '0 OR (SELECT COUNT(*) FROM other) > 0'}"),
        [("name: p", "'minLength' must be a whole number")],
    ),
    "SQL for a length of a part whose logical type is left out": (
        AMOUNT,
        "      - {name: p, logicalType: array, items: {physicalType: string, logicalTypeOptions: {maxLength: 'x'}}}\n"
        + AMOUNT,
        [("name: p", "'maxLength' must be a whole number")],
    ),
    "false for a pattern where the logical type is left out": (
        AMOUNT,
        PHYSICAL.format("string", "{pattern: false}"),
        [("name: p", "'pattern' must be text")],
    ),
    "another width than the physical type's, where the logical type is left out": (
        AMOUNT,
        PHYSICAL.format("double", "{format: f32}"),
        [("name: p", "physicalType 'double' and logicalTypeOptions don't agree: the options say float")],
    ),
    "a zone that the physical type has not, where the logical type is left out": (
        AMOUNT,
        PHYSICAL.format("timestamp_ntz", "{timezone: true}"),
        [("name: p", "the options say timestamp")],
    ),
    "length beyond what can be counted": (
        AMOUNT,
        PHYSICAL.format("string", "{minLength: 5e37}"),
        [("name: p", "5e+37 is no size: a whole number from 0 to 2,147,483,647")],
    ),
    "decimal with places for whole numbers": (
        AMOUNT,
        "      - {name: p, logicalType: integer, physicalType: 'decimal(10,2)'}\n" + AMOUNT,
        [("name: p", "physicalType 'decimal(10,2)' and logicalType 'integer' don't agree")],
    ),
    "count as a percentage": (
        AMOUNT,
        "      - name: p\n        logicalType: string\n        quality:\n"
        "          - {type: sql, query: 'SELECT COUNT(*) FROM {object}', unit: percent, mustBe: 0}\n" + AMOUNT,
        [("type: sql", "the query gives a count, and no percentage")],
    ),
    "character that SQL has no spelling for": (
        AMOUNT,
        '      - {name: p, logicalType: string, enum: [{value: "\\0012"}]}\n' + AMOUNT,
        [("name: p", "cannot be read as str")],
    ),
    "vendor that is nearly ours": (
        "  - name: orders\n",
        "  - name: orders\n    customProperties: [{property: branchDays, vendor: Lakegate, value: 3}]\n",
        [("branchDays", "the vendor 'Lakegate' is 'lakegate'")],
    ),
    "misspelt word of a check": (
        OPERATOR,
        "            mustBeLesThan: 5\n",
        [
            ("metric: nullValues", "an operator is missing"),
            ("mustBeLesThan", "did you mean 'mustBeLessThan'?"),
        ],
    ),
    "bound with more digits than a number keeps": (
        BOUNDS,
        "{minimum: 12345678901234567890.12}",
        [("minimum: 1234", "'12345678901234567890.12' has more digits than are kept")],
    ),
    "misspelt option": (BOUNDS, "{maximun: 3}", [("maximun", "the options of a double (did you mean 'maximum'?)")]),
    "misspelt word of a description": (
        "status: active",
        "description: {purpos: x}",
        [("purpos", "did you mean 'purpose'?")],
    ),
    "misspelt word of a team": (
        "status: active",
        "team: {members: [{usrname: x}]}",
        [("usrname", "'username' is missing"), ("usrname", "did you mean 'username'?")],
    ),
    "misspelt word of the older kind of team": (
        "status: active",
        "team: [{username: x, rolle: y}]",
        [("rolle", "did you mean 'role'?")],
    ),
    "misspelt word of an enum": (STATES, "[{value: open, lable: x}]", [("lable", "did you mean 'label'?")]),
    "misspelt setting": (
        TRANSFORM,
        "{property: partitionTransfrom, vendor: lakegate, value: days}",
        [("partitionTransfrom", "no setting of lakegate here (did you mean 'partitionTransform'?)")],
    ),
    "severity of a column that there is not": (
        TRANSFORM,
        TRANSFORM + "\n          - {property: severity, vendor: lakegate, value: warnin}",
        [("value: warnin", "did you mean 'warning'?")],
    ),
    "setting without its vendor": (
        TRANSFORM,
        "{property: partitionTransform, value: days}",
        [("partitionTransform", "takes effect with `vendor: lakegate`")],
    ),
    "setting at the wrong place": (
        ORDERS,
        ORDERS + "    customProperties: [{property: partitionTransform, vendor: lakegate, value: days}]\n",
        [("    customProperties: [", "no setting of lakegate here")],
    ),
    "setting of a table, misspelt": (
        ORDERS,
        ORDERS + "    customProperties: [{property: newColumn, vendor: lakegate, value: evolve}]\n",
        [("    customProperties: [", "no setting of lakegate here (did you mean 'newColumns'?)")],
    ),
    "setting of a table that takes no such stance": (
        ORDERS,
        ORDERS + "    customProperties: [{property: missingColumns, vendor: lakegate, value: discard}]\n",
        [("    customProperties: [", "missingColumns is 'discard', and it can be freeze or allow")],
    ),
    "setting of a table whose stance is misspelt": (
        ORDERS,
        ORDERS + "    customProperties: [{property: newColumns, vendor: lakegate, value: evolv}]\n",
        [("    customProperties: [", "freeze, evolve or discard (did you mean 'evolve'?)")],
    ),
    "setting that is a number from 1 up": (
        ORDERS,
        ORDERS + "    customProperties: [{property: branchDays, vendor: lakegate, value: 0}]\n",
        [("    customProperties: [", "branchDays is 0, and it is a whole number from 1 to 36,500")],
    ),
    "setting of a table twice": (
        ORDERS,
        ORDERS
        + "    customProperties:\n"
        + "      - {property: newColumns, vendor: lakegate, value: evolve}\n"
        + "      - {property: newColumns, vendor: lakegate, value: discard}\n",
        [("value: discard", "newColumns is given twice")],
    ),
    "a mode that is none": (
        ORDERS,
        ORDERS + "    customProperties: [{property: mode, vendor: lakegate, value: observed}]\n",
        [("    customProperties: [", "'observed', and it can be enforce or observe (did you mean 'observe'?)")],
    ),
    "reuploads that are none": (
        ORDERS,
        ORDERS + "    customProperties: [{property: reuploads, vendor: lakegate, value: replaced}]\n",
        [
            (
                "    customProperties: [",
                "'replaced', and it can be replace, append, ignore or reject (did you mean 'replace'?)",
            )
        ],
    ),
    "files to register": (
        ORDERS,
        ORDERS + "    customProperties: [{property: write, vendor: lakegate, value: register}]\n",
        [("    customProperties: [", "write: register is refused, because readers disagree about a stranger's bytes")],
    ),
    "a way to write that is none": (
        ORDERS,
        ORDERS + "    customProperties: [{property: write, vendor: lakegate, value: registre}]\n",
        [("    customProperties: [", "write is 'registre', and it can only be append")],
    ),
    "reuploads twice": (
        ORDERS,
        ORDERS
        + "    customProperties:\n"
        + "      - {property: reuploads, vendor: lakegate, value: append}\n"
        + "      - {property: reuploads, vendor: lakegate, value: ignore}\n",
        [("value: ignore", "reuploads is given twice")],
    ),
    "more files in a batch than can be": (
        ORDERS,
        ORDERS + "    customProperties: [{property: batchFiles, vendor: lakegate, value: 1001}]\n",
        [("    customProperties: [", "batchFiles is 1001, and it is a whole number from 1 to 1,000")],
    ),
    "no bytes in a batch": (
        ORDERS,
        ORDERS + "    customProperties: [{property: batchBytes, vendor: lakegate, value: 0}]\n",
        [("    customProperties: [", "batchBytes is 0, and it is a whole number from 1 up")],
    ),
    "setting on a check": (
        OPERATOR,
        OPERATOR + "            customProperties: [{property: sample, vendor: lakegate, value: 3}]\n",
        [("vendor: lakegate, value: 3", "'sample' is no setting of lakegate here")],
    ),
    "key twice": (
        AMOUNT,
        AMOUNT + "        name: total\n",
        [("        name: total", "'name' is given twice, first on line 19")],
    ),
    "two operators": (
        OPERATOR,
        OPERATOR + "            mustBe: 0\n",
        [("metric: nullValues", "one operator a check, and there are mustBe and mustBeLessThan")],
    ),
    "no operator": (OPERATOR, "", [("metric: nullValues", "an operator is missing")]),
    "operator that compares with text": (
        OPERATOR,
        "            mustBe: x\n",
        [("mustBe: x", "compares with a number")],
    ),
    "operator that compares with true": (
        OPERATOR,
        "            mustBe: true\n",
        [("mustBe: t", "compares with a number")],
    ),
    "operator below zero": (OPERATOR, "            mustBe: -1\n", [("mustBe: -1", "a count is never below 0")]),
    "bounds the wrong way round": (
        OPERATOR,
        "            mustBeBetween: [9, 3]\n",
        [("[9, 3]", "the bounds are the wrong way round: 9 is above 3")],
    ),
    "bounds with one number": (OPERATOR, "            mustBeBetween: [9]\n", [("[9]", "it compares with two numbers")]),
    "more than all rows": (
        OPERATOR,
        "            mustBeLessThan: 150\n",
        [("metric: nullValues", "between 0 and 100")],
    ),
    "percent of the count of rows": (
        "        mustBeGreaterThan: 0",
        "        mustBeGreaterThan: 0\n        unit: percent",
        [("metric: rowCount", "their count is not one of them")],
    ),
    "unknown severity": (
        "severity: warning",
        "severity: info",
        [("info", "it can be error, quarantine or warning")],
    ),
    "quarantine without a budget": (
        "severity: warning",
        "severity: quarantine",
        [("metric: nullValues", "needs the table's quarantineBudget, such as {rows: 100} or {percent: 1}")],
    ),
    "budget that nothing asks for": (
        ORDERS,
        ORDERS + BUDGET,
        [("quarantineBudget", "without a check of severity quarantine")],
    ),
    "quarantine of what counts no rows": (
        "        mustBeGreaterThan: 0",
        "        mustBeGreaterThan: 0\n        severity: quarantine\n" + BUDGET,
        [("metric: rowCount", "cannot quarantine: only checks that count failing rows can")],
    ),
    "quarantine that mends nothing": (
        OPERATOR + "            severity: warning",
        "            mustBeGreaterThan: 5\n            severity: quarantine",
        [
            ("metric: nullValues", "a check that quarantines needs the table's quarantineBudget"),
            ("metric: nullValues", "it would not hold without failing rows either"),
        ],
    ),
    "budget that is none": (
        ORDERS,
        ORDERS + BUDGET.replace("{rows: 5}", "{rows: 5, percent: 1}"),
        [
            ("quarantineBudget", "without a check of severity quarantine"),
            ("quarantineBudget", "is {rows: 100}, a number above 0, or {percent: 1}, up to 100"),
        ],
    ),
    "unknown unit": ("unit: percent", "unit: percents", [("percents", "did you mean 'percent'?")]),
    "check that is older than the standard": (
        QUALITY,
        "          - rule: nullCheck\n",
        [("rule: nullCheck", "it is called `metric` since v3.1")],
    ),
    "check in SQL": (
        QUALITY,
        "          - type: sql\n            query: select 1\n",
        [("query:", "the query: has no FROM")],
    ),
    "check of another engine": (
        QUALITY,
        "          - type: custom\n            engine: soda\n            implementation: x\n",
        [
            ("engine:", "'soda' does not run here"),
            ("            mustBeLessThan: 5", "does not belong to a custom check"),
        ],
    ),
    "custom check that is misspelt": (
        CHECK,
        CUSTOM + "            implementation: {notInFutur: true}\n",
        [("notInFutur", "did you mean 'notInFuture'?")],
    ),
    "custom check that is text": (
        CHECK,
        CUSTOM + "            implementation: notInFuture\n",
        [("implementation", "a mapping with the one word that names the check")],
    ),
    "custom check without a name": (
        CHECK,
        CUSTOM + "            implementation: {}\n",
        [("implementation", "one word names the check, and there are 0")],
    ),
    "custom check of a column without a future": (
        CHECK,
        CUSTOM + "            implementation: {notInFuture: true}\n",
        [("implementation", "is string: only a date or a timestamp has a future")],
    ),
    "custom check that is off": (
        CHECK,
        CUSTOM + "            implementation: {notInFuture: false}\n",
        [("implementation", "or leave it out")],
    ),
    "check without a metric": (QUALITY, "          - name: x\n", [("          - name: x", "'metric' is missing")]),
    "metric not in the library": (
        QUALITY,
        "          - metric: nulValues\n",
        [("nulValues", "did you mean 'nullValues'?")],
    ),
    "missing values without them": (
        QUALITY,
        "          - metric: missingValues\n",
        [("metric: missingValues", "needs the argument 'missingValues' or 'pattern'")],
    ),
    "missing values of another type": (
        QUALITY,
        "          - metric: missingValues\n            arguments: {missingValues: [null, 3]}\n",
        [("[null, 3]", "3 is not text")],
    ),
    "missing values by another argument": (
        QUALITY,
        "          - metric: missingValues\n            arguments: {missingValues: [''], validValues: [x]}\n",
        [("validValues: [x]", "the arguments of missingValues")],
    ),
    "missing values by a pattern alone that engines read in different ways": (
        QUALITY,
        "          - metric: missingValues\n            arguments:\n              pattern: '(?=x)'\n",
        [("pattern: '(?=x)'", "the pattern '(?=x)': (?= is not supported: engines do not agree on it")],
    ),
    "missing values by a pattern that an engine may never be done with": (
        QUALITY,
        "          - metric: missingValues\n            arguments: {missingValues: [''], pattern: 'a.*b.*c.*d.*e'}\n",
        [("pattern: 'a.*", "an engine may be busy for ever")],
    ),
    "missing values by a pattern that is no text": (
        QUALITY,
        "          - metric: missingValues\n            arguments: {missingValues: [''], pattern: 3}\n",
        [("pattern: 3", "a pattern is text")],
    ),
    "missing values by a pattern of a column of numbers": (
        BOUNDS,
        "{}\n        quality: [{metric: missingValues, arguments: {pattern: '-'}, mustBe: 0}]",
        [("pattern: '-'", "of a column of text (the column 'amount' is ")],
    ),
    "missing values of another type beside a pattern that is none": (
        QUALITY,
        "          - metric: missingValues\n            arguments: {missingValues: [3], pattern: (}\n",
        [("missingValues: [3]", "3 is not text"), ("pattern: (", "is no regular expression")],
    ),
    "metric of the table on a column": (
        QUALITY,
        "          - metric: rowCount\n",
        [("          - metric: rowCount", "rowCount belongs to the table")],
    ),
    "metric of a column on the table": (
        "      - metric: rowCount",
        "      - metric: nullValues",
        [("      - metric: nullValues\n        mustBeG", "nullValues belongs to a column")],
    ),
    "invalid values without the valid ones": (
        QUALITY,
        "          - metric: invalidValues\n",
        [("metric: invalidValues", "needs the argument 'validValues' or 'pattern'")],
    ),
    "invalid values by an argument of nobody": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {patern: x}\n",
        [("metric: invalidValues", "needs the argument"), ("patern: x", "did you mean 'pattern'?")],
    ),
    "invalid values by a pattern that engines read in different ways": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {pattern: '(?=x)'}\n",
        [("(?=x)", "the pattern '(?=x)'")],
    ),
    "invalid values by a pattern that is no text": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {pattern: 3}\n",
        [("pattern: 3", "a pattern is text")],
    ),
    "valid values without a list": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {validValues: open, pattern: x}\n",
        [("validValues: open", "a list with something in it")],
    ),
    "valid values of another type": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {validValues: [open, 3]}\n",
        [("[open, 3]", "3 is not text")],
    ),
    "no valid values": (
        QUALITY,
        "          - metric: invalidValues\n            arguments: {validValues: []}\n",
        [("validValues: []", "a list with something in it")],
    ),
    "duplicates of an unknown column": (
        "      - metric: rowCount\n        mustBeGreaterThan: 0",
        "      - metric: duplicateValues\n        mustBe: 0\n        arguments: {properties: [id, amuont]}",
        [("amuont", "the table has no column 'amuont' (did you mean 'amount'?)")],
    ),
    "duplicates of a column twice": (
        "      - metric: rowCount\n        mustBeGreaterThan: 0",
        "      - metric: duplicateValues\n        mustBe: 0\n        arguments: {properties: [id, state, id]}",
        [("arguments", "a column is in the key twice")],
    ),
    "name that is another column's in the table": (
        AMOUNT,
        f"      - {{name: price, physicalName: amount, logicalType: number}}\n{AMOUNT}        physicalName: net\n",
        [("name: amount", "'amount' is also the physicalName of the column 'price'")],
    ),
    "minimum above the maximum": (BOUNDS, "{minimum: 9, maximum: 3}", [("minimum: 9", "no value is left")]),
    "empty open range": (BOUNDS, "{exclusiveMinimum: 3, maximum: 3}", [("exclusiveMinimum: 3", "no value is left")]),
    "bound that is no number": (
        BOUNDS,
        "{minimum: one}",
        [("minimum: one", "'minimum' must be a number, not \"one\"")],
    ),
    "bound that is not a number": (BOUNDS, "{minimum: .nan}", [("minimum: .nan", "cannot be read as float")]),
    "exclusive bound as it once was": (
        BOUNDS,
        "{minimum: 0, exclusiveMinimum: true}",
        [("exclusiveMinimum: true", "must be a number, not true")],
    ),
    "fraction of a whole number": (
        "{format: i64, minimum: 1}",
        "{format: i64, minimum: 1.5}",
        [("minimum: 1.5", "is not a whole number (the column 'id' is bigint)")],
    ),
    "bound beyond the type": (
        "{format: i64, minimum: 1}",
        "{minimum: 3000000000}",
        [("minimum: 3000000000", "does not fit in 32 bits")],
    ),
    "bound of a date that is none": (
        PLACED,
        "        logicalType: date\n        logicalTypeOptions: {minimum: 2013-02-30}\n",
        [("2013-02-30", "is not a date such as")],
    ),
    "bound with an offset on a local timestamp": (
        PLACED,
        PLACED + "        logicalTypeOptions: {timezone: false, minimum: 2013-01-01T00:00:00Z}\n",
        [("timezone: false", "the column has no timezone")],
    ),
    "default timezone that is not UTC": (
        PLACED,
        PLACED + "        logicalTypeOptions: {defaultTimezone: Europe/Zurich}\n",
        [("Europe/Zurich", "kept in UTC")],
    ),
    "pattern": (
        "        enum: [",
        "        logicalTypeOptions: {pattern: (}\n        enum: [",
        [("pattern: (", "the pattern '(': is no regular expression: missing )")],
    ),
    "no length left": (
        "        enum: [",
        "        logicalTypeOptions: {minLength: 4, maxLength: 3}\n        enum: [",
        [("maxLength: 3", "no text is left: minLength is 4 and maxLength is 3")],
    ),
    "format of a text": (
        "        enum: [",
        "        logicalTypeOptions: {format: emial}\n        enum: [",
        [("emial", "'emial' is no format here (did you mean 'email'?); there are email, uuid, uri")],
    ),
    "bound finer than an instant": (
        PLACED,
        PLACED + "        logicalTypeOptions: {minimum: '2013-01-01T00:00:00.0000001Z'}\n",
        [("minimum: '2013", "has more than six places of a second")],
    ),
    "threshold beyond all numbers": (
        OPERATOR,
        f"            mustBeLessThan: {'9' * 400}\n",
        [("mustBeLessThan: 9", "has more than 38 digits")],
    ),
    "length beyond all numbers": (
        "        enum: [",
        f"        logicalTypeOptions: {{minLength: {'9' * 39}}}\n        enum: [",
        [("minLength: 9", "has more than 38 digits")],
    ),
    "drift of a list": (
        CHECK,
        CUSTOM + "            implementation: {drift: {of: []}, mustBe: 0}\n",
        [("drift: {of: []}", "no drift of [] here")],
    ),
    "compression that is a list": (
        "    format: parquet",
        "    format: csv\n    customProperties: [{property: compression, vendor: lakegate, value: []}]",
        [("property: compression", "compression [] is not supported")],
    ),
    "branch for ever": (
        ORDERS,
        ORDERS + "    customProperties: [{property: branchDays, vendor: lakegate, value: 9999999}]\n",
        [("    customProperties: [", "branchDays is 9999999, and it is a whole number from 1 to 36,500")],
    ),
    "multiples of what is nothing in its type": (
        BOUNDS,
        "{format: f32, multipleOf: 0.1e-50}",
        [("multipleOf", "1e-51 is 0 as a float, which has no multiples")],
    ),
    "decimal that is no number": (
        BOUNDS,
        "{}\n        physicalType: decimal(9,2)\n        enum: [{value: NaN}, {value: Infinity}]",
        [("enum: [", "'NaN' is not a number"), ("enum: [", "'Infinity' is not a number")],
    ),
    "multiples of nothing": (BOUNDS, "{multipleOf: 0}", [("multipleOf", "less than or equal to the minimum of 0")]),
    "enum value of another type": (
        STATES,
        "[{value: open}, {value: 3}]",
        [("value: 3", "3 is not text: put it in quotes")],
    ),
    "enum of null": (STATES, "[{value: null}]", [("value: null", "is not text")]),
    "enum of bare words": (STATES, "[open]", [("[open]", "must be a mapping")]),
    "enum value twice": (
        STATES,
        "[{value: open}, {value: open}]",
        [("{value: open}, {value: open}", "is there 2 times")],
    ),
    "empty enum": (STATES, "[]", [("enum: []", "'enum'")]),
    "format that no table has": (
        "{format: i64, minimum: 1}",
        "{format: u8}",
        [("format: u8", "the format 'u8' is not supported: i32 or i64")],
    ),
    "types that don't agree": (
        "        logicalType: number\n",
        "        logicalType: number\n        physicalType: string\n",
        [("exclusiveMinimum", "the options of a string")] * 2
        + [("physicalType: string", "physicalType 'string' and logicalType 'number' don't agree")],
    ),
    "widths that don't agree": (
        "{format: i64, minimum: 1}",
        "{format: i64, minimum: 1}\n        physicalType: int",
        [("physicalType: int", "the options say bigint")],
    ),
    "type of another database": (
        "        logicalType: number\n",
        "        physicalType: varchar(10)\n",
        [("varchar", "physicalType 'varchar(10)' is no type of a column here")],
    ),
    "misspelt type": (
        "        logicalType: number\n",
        "        physicalType: doubel\n",
        [("doubel", "did you mean 'double'?")],
    ),
    "type too small for the table": (
        "        logicalType: number\n",
        "        physicalType: tinyint\n",
        [("tinyint", "no type of a column here")],
    ),
    "impossible decimal": (
        "        logicalType: number\n",
        "        physicalType: decimal(39,2)\n",
        [("decimal(39,2)", "1 to 38 digits")],
    ),
    "no type": ("        logicalType: string\n", "", [("name: state", "a column needs a type")]),
    "unsupported type": (
        "        logicalType: string\n",
        "        logicalType: time\n",
        [("logicalType: time", "columns of type 'time' are not supported yet")],
    ),
    "parts of a column that has none": (
        "        logicalType: string\n",
        "        logicalType: string\n        items: {logicalType: string}\n",
        [("items:", "'items' belongs to logicalType: array")],
    ),
    "enum of a nested column": (
        "        logicalType: string\n",
        "        logicalType: array\n        items: {logicalType: string}\n",
        [
            ("enum: [", "'open' cannot be compared with a nested column"),
            ("enum: [", "'paid' cannot be compared with a nested column"),
        ],
    ),
    "array of nothing": (AMOUNT, TAGS + AMOUNT, [("name: tags", "'items' is missing")]),
    "object of nothing": (
        AMOUNT,
        TAGS.replace("array", "object") + AMOUNT,
        [("name: tags", "an object has no properties")],
    ),
    "map without values": (
        AMOUNT,
        TAGS.replace("array", "map") + "        map: {key: {logicalType: string}}\n" + AMOUNT,
        [("map: {", "'value' is missing"), ("map: {", "'value' is missing: what is in it")],
    ),
    "words of the whole table in a nested column": (
        AMOUNT,
        TAGS.replace("array", "object")
        + "        unique: true\n"
        + "        properties:\n"
        + "          - {name: a, logicalType: string, primaryKey: true}\n"
        + "          - {name: A, logicalType: string, partitioned: true, requird: true}\n"
        + "          - {name: b, logicalType: string, quality: [{metric: nullValues, mustBe: 0}]}\n"
        + AMOUNT,
        [
            ("        unique: true", "the nested column 'tags' has no values that compare"),
            ("name: a,", "a part of a nested column cannot belong to the primary key"),
            ("name: A,", "a part of a nested column cannot partition the table"),
            ("name: A,", "'requird' is not a word of ODCS (did you mean 'required'?)"),
            ("name: A,", "the column 'A' is given twice"),
            ("name: b,", "checks of a part of a nested column are said by its own words"),
        ],
    ),
    "nested column among those that are not there twice": (
        AMOUNT,
        TAGS
        + "        items: {logicalType: string}\n"
        + "        quality: [{metric: duplicateValues, mustBe: 0}]\n"
        + AMOUNT,
        [("quality: [{metric: duplicateValues", "'tags' has no values that compare")],
    ),
    "array too short and too long": (
        AMOUNT,
        TAGS
        + "        items: {logicalType: string}\n"
        + "        logicalTypeOptions: {minItems: 3, maxItems: 2}\n"
        + AMOUNT,
        [("minItems: 3", "no array is left: minItems is 3 and maxItems is 2")],
    ),
    "array of maps, each once": (
        AMOUNT,
        TAGS
        + "        items: {logicalType: map, map: {key: {logicalType: string}, value: {logicalType: date}}}\n"
        + "        logicalTypeOptions: {uniqueItems: true}\n"
        + AMOUNT,
        [("uniqueItems", "maps cannot be compared")],
    ),
    "required property that an object does not have": (
        AMOUNT,
        TAGS.replace("array", "object")
        + "        properties: [{name: zip, logicalType: string}]\n"
        + "        logicalTypeOptions: {required: [zipp], minProperties: 1}\n"
        + AMOUNT,
        [
            ("required: [zipp]", "tags has no property 'zipp' (did you mean 'zip'?)"),
            ("required: [zipp]", "'minProperties' is refused"),
        ],
    ),
    "type of an item that has none": (
        AMOUNT,
        TAGS + "        items: {logicalTypeOptions: {minimum: 1}}\n" + AMOUNT,
        [("items: {", "a column needs a type")],
    ),
    "foreign key to a table without its namespace": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: states.name}]\n",
        [("relationships", "write namespace.table.column")],
    ),
    "foreign key by ids of another contract": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: schema/states/properties/name}]\n",
        [("relationships", "write namespace.table.column")],
    ),
    "foreign key to its own table of a type that is never equal": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: shop.orders.id}]\n",
        [("relationships", "state is string and id is bigint: never equal")],
    ),
    "foreign key to a column that its own table has not": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: shop.orders.sate}]\n",
        [("relationships", "the table has no column 'sate' (did you mean 'state'?)")],
    ),
    "foreign key that refers to itself": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: orders.state}]\n",
        [("relationships", "a key that refers to itself always holds")],
    ),
    "foreign key of one column to two": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{to: [shop.states.name, shop.states.id]}]\n",
        [("relationships", "1 column cannot refer to 2")],
    ),
    "foreign key of a column that says from": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{from: orders.state, to: shop.states.name}]\n",
        [("relationships", "'from' does not belong there")],
    ),
    "misspelt word of a foreign key": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{too: shop.states.name}]\n",
        [("relationships", "'to' is missing"), ("relationships", "'too' is not a word of a relationship")],
    ),
    "relationship of another type": (
        "        logicalType: string\n",
        "        logicalType: string\n        relationships: [{type: lookup, to: shop.states.name}]\n",
        [("relationships", "'type' is \"lookup\", and it can be foreignKey")],
    ),
    "foreign key from another table": (
        ORDERS,
        ORDERS + "    relationships: [{from: items.state, to: shop.states.name}]\n",
        [("relationships", "'from' is a column of this table, such as shop.orders.state, not 'items.state'")],
    ),
    "foreign key from a column that is not there": (
        ORDERS,
        ORDERS + "    relationships: [{from: orders.stat, to: shop.states.name}]\n",
        [("relationships", "the table has no column 'stat' (did you mean 'state'?)")],
    ),
    "foreign key to two tables": (
        ORDERS,
        ORDERS + "    relationships: [{from: [orders.state, orders.id], to: [shop.states.name, shop.items.id]}]\n",
        [("relationships", "a key refers to one table, and these are shop.items and shop.states")],
    ),
    "foreign key of unequal length": (
        ORDERS,
        ORDERS + "    relationships: [{from: [orders.state, orders.id], to: [shop.states.name]}]\n",
        [("relationships", "2 columns cannot refer to 1")],
    ),
    "foreign key with a column twice": (
        ORDERS,
        ORDERS + "    relationships: [{from: [orders.id, orders.id], to: [shop.states.a, shop.states.b]}]\n",
        [("relationships", "a column is in the key twice")],
    ),
    "foreign key of the table without from": (
        ORDERS,
        ORDERS + "    relationships: [{to: shop.states.name}]\n",
        [("relationships", "'from' is missing")],
    ),
    "scope that is none": (
        "        primaryKey: true\n",
        "        unique: true\n        customProperties: [{property: scope, vendor: lakegate, value: lake}]\n",
        [("customProperties", "scope is 'lake', and it can be batch or table")],
    ),
    "scope of a column that is not unique": (
        AMOUNT,
        AMOUNT + "        customProperties: [{property: scope, vendor: lakegate, value: table}]\n",
        [("customProperties", "scope without unique: true")],
    ),
    "scope of a count of nulls": (
        OPERATOR,
        OPERATOR + "            customProperties: [{property: scope, vendor: lakegate, value: table}]\n",
        [("metric: nullValues", "nullValues is of each file alone")],
    ),
    "scope of a check of another type": (
        "      - metric: rowCount\n        mustBeGreaterThan: 0\n",
        "      - {type: text, customProperties: [{property: scope, vendor: lakegate, value: table}]}\n",
        [("type: text", "scope is for duplicateValues and rowCount")],
    ),
    "scope without its vendor": (
        "        primaryKey: true\n",
        "        unique: true\n        customProperties: [{property: scope, value: table}]\n",
        [("customProperties", "takes effect with `vendor: lakegate`")],
    ),
    "names that differ in case": (AMOUNT, "      - name: ID\n", [("name: ID", "given twice, first on line 15")]),
    "names that are one to engines": (AMOUNT, "      - name: İd\n", [("name: İd", "given twice, first on line 15")]),
    "names that differ in case, of columns that do not": (
        AMOUNT,
        f"      - {{name: Amount, physicalName: gross, logicalType: number}}\n{AMOUNT}        physicalName: net\n",
        [("name: amount", "the name 'amount' is given twice")],
    ),
    "name that a part of a nested column goes by": (
        AMOUNT,
        TAGS.replace("array", "object")
        + "        properties:\n          - {name: b, logicalType: string}\n"
        + "      - {name: Tags.B, logicalType: string}\n"
        + AMOUNT,
        [("Tags.B", "a part of the column 'tags' goes by the name 'Tags.B'")],
    ),
    "reserved name": (AMOUNT, "      - name: _Lakegate_file\n", [("_Lakegate_file", "lakegate's own")]),
    "reserved name of Iceberg": (
        AMOUNT,
        "      - name: _Pos\n",
        [("_Pos", "the name '_Pos' is reserved: it is Iceberg's own")],
    ),
    "reserved name in the files": (
        AMOUNT,
        "      - name: about\n        physicalName: _metadata\n",
        [("name: about", "'_metadata' is reserved: it is Spark's own")],
    ),
    "name with a control character": (AMOUNT, '      - name: "a\\tb"\n', [('name: "a', "without control characters")]),
    "empty name": (AMOUNT, '      - name: ""\n', [('name: ""', "a column's name is text")]),
    "no name": (AMOUNT, "      - businessName: x\n", [("businessName: x", "'name' is missing")]),
    "key with a hole": (
        "        primaryKey: true\n",
        "        primaryKey: true\n        primaryKeyPosition: 2\n",
        [("primaryKeyPosition: 2", "counts 1, 2, …")],
    ),
    "position without a key": (
        "        required: true\n",
        "        required: true\n        primaryKeyPosition: 1\n",
        [
            ("primaryKeyPosition: 1", "primaryKeyPosition without primaryKey: true"),
            ("primaryKeyPosition: 1", "counts 1"),
        ],
    ),
    "unknown transform": (
        TRANSFORM,
        TRANSFORM.replace("days", "weeks"),
        [("weeks", "'weeks' is no partition transform")],
    ),
    "transform without a width": (TRANSFORM, TRANSFORM.replace("days", "bucket"), [("bucket", "write identity")]),
    "transform of another type": (
        TRANSFORM,
        TRANSFORM.replace("days", '"truncate[4]"'),
        [("truncate", "'placed' is timestamp, which truncate cannot partition")],
    ),
    "decimals cut": (
        AMOUNT,
        DECIMAL.format("b", "numeric(9, 2)", CUT) + AMOUNT,
        [("name: b", "'b' is decimal(9,2), which truncate cannot partition: take bucket[16], or do without")],
    ),
    "two partitions of one decimal type": (
        AMOUNT,
        DECIMAL.format("a", "decimal(9,2)", IDENTITY)
        + DECIMAL.format("b", "numeric(9, 2)", IDENTITY)
        + DECIMAL.format("c", "decimal(9,2)", BUCKET)
        + DECIMAL.format("d", "decimal(9,3)", IDENTITY)
        + AMOUNT,
        [("name: b", "'b' can't partition the table by decimal(9,2) beside 'a': ")],
    ),
    "two partitions of decimals that files may make one type": (
        COLUMNS,
        COLUMNS.replace("    properties", OURS.format("widenedTypes", "evolve") + "\n    properties")
        + DECIMAL.format("a", "decimal(10,2)", IDENTITY)
        + DECIMAL.format("b", "decimal(12, 2)", IDENTITY)
        + DECIMAL.format("c", "decimal(12,2)", BUCKET)
        + DECIMAL.format("d", "decimal(12,3)", IDENTITY),
        [("name: b", "'b' can't partition the table by decimal(12,2) beside 'a', for files may make them one type: ")],
    ),
    "masked values in the names of data files": (
        PLACED,
        PLACED + "        classification: confidential\n",
        [(TRANSFORM, "'placed' can't partition the table by days: its values are masked")],
    ),
    "transform without partitioned": (
        "        partitioned: true\n",
        "",
        [("name: placed", "partitionTransform without partitioned: true")],
    ),
    "transform that needs a column's name": (
        AMOUNT,
        "      - name: placed_DAY\n",
        [("name: placed\n", "a column has it")],
    ),
    "no columns": (
        GOOD[GOOD.index("    properties:") : GOOD.index("    quality:\n      - metric: rowC")],
        "",
        [
            ("name: orders", "the table has no columns"),
        ],
    ),
    "table without a namespace": ("shop.orders", "orders", [("physicalName", "write physicalName: namespace.table")]),
    "table with a long name": (
        "shop.orders",
        f"shop.{'o' * 196}",
        [("physicalName", "the table's name has 201 characters, and it may have 200")],
    ),
    "table in upper case": ("shop.orders", "shop.Orders", [("physicalName", "'shop.Orders' is no table")]),
    "table of the service itself": ("shop.orders", "_lakegate.orders", [("physicalName", "is no table")]),
    "two tables": (
        ORDERS,
        "  - {name: shop.lines, properties: [{name: id, logicalType: integer}]}\n" + ORDERS,
        [("name: orders", "a contract is for one table, and `schema` has 2")],
    ),
    "no landing server": ("server: landing", "server: prod", [("servers:", "exactly one server is named `landing`")]),
    "two landing servers": (
        "schema:",
        "  - {server: landing, type: s3, location: 's3://landing/x/*', format: parquet}\nschema:",
        [("s3://landing/x/*", "exactly one server is named `landing`")],
    ),
    "no servers": (GOOD[GOOD.index("servers:") : GOOD.index("schema:")], "", [("apiVersion", "exactly one server")]),
    "landing somewhere else": ("s3://landing/", "s3://bucket/", [("s3://bucket/", "begins with s3://landing/")]),
    "landing everywhere": ("s3://landing/shop/orders/*.parquet", "s3://landing/", [("s3://landing/", "key pattern")]),
    "landing in a misspelt format": (
        "format: parquet",
        "format: paquet",
        [("format: paquet", "(did you mean 'parquet'?)")],
    ),
    "landing in an unknown format": (
        "format: parquet",
        "format: xlsx",
        [("format: xlsx", "is 'xlsx', and it can be parquet, orc, avro, csv or json")],
    ),
    "landing without a format": (
        "    format: parquet\n",
        "",
        [("server: landing", "'format' is missing: parquet, orc, avro, csv")],
    ),
    "parquet with a delimiter": (
        "format: parquet",
        "format: parquet\n    delimiter: ;",
        [("delimiter", "'delimiter' is for csv and json files, and these are parquet")],
    ),
    "json with a header": (
        "format: parquet",
        "format: json\n" + OURS.format("header", "true"),
        [("property: header", "'header' is for csv files, and these are json")],
    ),
    "json in one array": (
        "format: parquet",
        "format: json\n    delimiter: array",
        [("delimiter", "json files have an object a line")],
    ),
    "long delimiter": ("format: parquet", "format: csv\n    delimiter: '||'", [("delimiter", "is not one character")]),
    "quote that delimits": (
        "format: parquet",
        'format: csv\n    delimiter: "\'"\n' + OURS.format("quote", '"\'"'),
        [("server: landing", "cannot be the quote or the escape, too")],
    ),
    "encoding that no line can be cut in": (
        "format: parquet",
        "format: csv\n    encoding: UTF-16",
        [("encoding", "encoding 'UTF-16' is not supported: UTF-8, US-ASCII")],
    ),
    "limit that nothing is within": (
        "format: parquet",
        "format: parquet\n" + OURS.format("maxRows", "0"),
        [("property: maxRows", "maxRows 0 is no whole number above 0")],
    ),
    "limit of another format": (
        "format: parquet",
        "format: csv\n" + OURS.format("maxRowGroups", "5"),
        [("property: maxRowGroups", "'maxRowGroups' is for parquet and orc files, and these are csv")],
    ),
    "unreadable compression": (
        "format: parquet",
        "format: csv\n" + OURS.format("compression", "xz"),
        [("property: compression", "compression 'xz' is not supported: none, gzip, bzip2, zstd are")],
    ),
    "header that is neither": (
        "format: parquet",
        "format: csv\n" + OURS.format("header", "maybe"),
        [("property: header", "header 'maybe' is neither true nor false")],
    ),
    "null that is no text": (
        "format: parquet",
        "format: csv\n" + OURS.format("nullValues", "[NA, -999]"),
        [("property: nullValues", 'is not a list of texts, such as ["", "NA"]')],
    ),
    "null texts of a column in files that have none": (
        AMOUNT,
        "      - {name: p, logicalType: string, customProperties: "
        "[{property: nullValues, vendor: lakegate, value: [NA]}]}\n" + AMOUNT,
        [("name: p", "'nullValues' is for csv files, and these are parquet")],
    ),
    "null texts of a part of a column": (
        AMOUNT,
        "      - {name: p, logicalType: array, items: {logicalType: string, customProperties: "
        "[{property: nullValues, vendor: lakegate, value: [NA]}]}}\n" + AMOUNT,
        [("name: p", "'nullValues' is no setting of lakegate here")],
    ),
    "setting of files twice": (
        "format: parquet",
        "format: csv\n"
        + OURS.format("header", "true")
        + "\n      - {property: header, vendor: lakegate, value: false}",
        [("value: false", "header is given twice")],
    ),
    "misspelt setting of files": (
        "format: parquet",
        "format: csv\n" + OURS.format("multiline", "true"),
        [("property: multiline", "no setting of lakegate here (did you mean 'multiLine'?)")],
    ),
    "setting of files that is nobody's": (
        "format: parquet",
        "format: csv\n    customProperties:\n      - {property: header, value: false}",
        [("property: header", "'header' takes effect with `vendor: lakegate` beside it")],
    ),
    "date that is no date": (
        "format: parquet",
        "format: csv\n" + OURS.format("dateFormat", "mm/dd/yyyy"),
        [("property: dateFormat", "does not spell a year, a month and a day")],
    ),
    "timestamp without a time": (
        PLACED,
        PLACED + "        logicalTypeOptions: {format: dd.MM.yyyy}\n",
        [("format: dd.MM", "does not spell the time of day")],
    ),
    "spelling that Java does not know": (
        "format: parquet",
        "format: csv\n" + OURS.format("timestampFormat", '"yyyy-MM-ddTHH:mm:ss"'),
        [("property: timestampFormat", "is not a spelling such as dd/MM/yyyy")],
    ),
    "fractions that Java cannot tell from seconds": (
        "format: parquet",
        "format: csv\n" + OURS.format("timestampFormat", "yyyyMMddHHmmssSSS"),
        [("property: timestampFormat", "stand after a point or a comma")],
    ),
    "offset without a timezone": (
        PLACED,
        PLACED + "        logicalTypeOptions: {timezone: false, format: yyyy-MM-dd HH:mmXXX}\n",
        [("format: yyyy-MM-dd HH", "has an offset, and the column 'placed' has no timezone")],
    ),
    "landing in a database": (
        "    type: s3",
        "    type: kafka",
        [("server: landing", "'host' is missing"), ("type: kafka", "it can be 's3' only")],
    ),
    "older standard": ("v3.2.0", "v2.2.2", [("apiVersion", "v3.0.0 to v3.2.0 are read")]),
    "newer standard": ("v3.2.0", "v4.0.0", [("apiVersion", "'apiVersion' is \"v4.0.0\", and it can be v3.2.0")]),
    "no id": ("id: shop-orders\n", "", [("apiVersion", "'id' is missing")]),
    "version that is a number": ("version: 1.0.0", "version: 1.0", [("\nversion", "'version' must be text, not 1.0")]),
    "value of the wrong kind": (
        "required: true",
        "required: yes",
        [("required: yes", 'must be true or false, not "yes"')],
    ),
    "word without a value": ("required: true", "required:", [("required:", "and nothing is there")]),
    "schema that is no list": (
        GOOD[GOOD.index("schema:") :],
        "schema: {name: x}\n",
        [("schema:", "'schema' must be a list, not a mapping")],
    ),
    "promise that is not kept here": (
        "status: active",
        "slaProperties: [{property: retention, value: 4, unit: d}]",
        [("slaProperties", "the promise 'retention' is not enforced")],
    ),
    "promise without a column": (
        "status: active",
        "slaProperties: [{property: latency, value: 4, unit: d}]",
        [("slaProperties", "'element' is missing: the column whose newest value may not be too old")],
    ),
    "promise of a column that is not there": (
        "status: active",
        "slaProperties: [{property: latency, value: 4, unit: d, element: orders.placd}]",
        [("slaProperties", "no column 'orders.placd' (did you mean 'placed'?)")],
    ),
    "promise of a column that has no age": (
        "status: active",
        "slaProperties: [{property: latency, value: 4, unit: d, element: amount}]",
        [("slaProperties", "the column 'amount' is double: only a date or a timestamp has an age")],
    ),
    "promise of no number": (
        "status: active",
        "slaProperties: [{property: latency, value: soon, unit: d, element: placed}]",
        [("slaProperties", "'soon' is no number of 0 or more")],
    ),
    "promise with a number that only Python reads": (
        "servers:",
        "slaProperties: [{property: latency, value: '4_0', unit: d, element: placed}]\nservers:",
        [("slaProperties", "'4_0' is no number of 0 or more")],
    ),
    "promise with a second limit": (
        "servers:",
        "slaProperties: [{property: latency, value: 4, valueExt: 1, unit: d, element: placed}]\nservers:",
        [("slaProperties", "valueExt is refused: latency has one limit")],
    ),
    "promise in no unit": (
        "status: active",
        "slaProperties: [{property: latency, value: 4, element: placed}]",
        [("slaProperties", "'unit' is missing, such as d for days")],
    ),
    "promise in months": (
        "status: active",
        "slaProperties: [{property: latency, value: 4, unit: month, element: placed}]",
        [("slaProperties", "the unit 'month' is none of")],
    ),
    "misspelt promise": (
        "status: active",
        "slaProperties: [{property: latancy, value: 4, unit: d, element: placed}]",
        [("slaProperties", "the promise 'latancy' is not enforced (did you mean 'latency'?)")],
    ),
    "anchor": ("id: shop-orders", "id: &id shop-orders", [("\nid: &id", "anchors and aliases are not supported")]),
    "tag": ("id: shop-orders", "id: !!python/name:os.system x", [("\nid: !!", "is not supported")]),
    "merged mapping": (
        "        required: true",
        "        <<: {required: true}",
        [("<<:", "a key must be a plain word")],
    ),
    "two documents": ("schema:", "---\nschema:", [("---", "not YAML")]),
    "no YAML": ("id: shop-orders", "id: [shop", [("version", "not YAML")]),
}


def faults_of(text: bytes | str) -> list[tuple[int, str]]:
    with pytest.raises(ContractFaults) as caught:
        load(text, "orders.yaml")
    return [(fault.line, fault.message) for fault in caught.value.faults]


def test_the_contract_that_the_cases_spoil_is_good() -> None:
    assert load(GOOD, "orders.yaml").table == "shop.orders"


@pytest.mark.parametrize("name", CASES)
def test_bad_contract_is_refused_with_every_fault_by_line(name: str) -> None:
    old, new, expected = CASES[name]
    assert old in GOOD
    text = (CSV if old is PLACED and "format:" in new else GOOD).replace(old, new, 1)

    found = faults_of(text)

    assert len(found) == len(expected), found
    for (line, message), (marker, part) in zip(
        sorted(found), sorted(expected, key=lambda it: line_of(text, it)), strict=True
    ):
        assert part in message
        assert line == line_of(text, (marker, part))[0]


@pytest.mark.parametrize(
    ("options", "word", "part"),
    [
        ("{format: f32, minimum: 0, maximum: 0.1}", "maximum", "0.1 is another number in 32 bits than in 64, to which"),
        ("{format: f32}\n        enum: [{value: 0.5}, {value: 0.3}]", "enum", "0.3 is another number in 32 bits"),
        (
            """{format: f32}
        quality:
          - {metric: missingValues, mustBe: 0, arguments: {missingValues: [null, -1, 0.7]}}""",
            "missingValues",
            "0.7 is another number in 32 bits",
        ),
        (
            f"{{format: f32}}\n        quality:\n{CUSTOM}            implementation: {{share: 0.7, mustBe: 5}}",
            "share",
            "0.7",
        ),
        ("{format: f32, multipleOf: 0.5}", "multipleOf", "is judged by other digits in 32 bits than in 64, to which"),
    ],
)
def test_a_float_that_files_may_widen_is_compared_with_what_is_the_same_in_both(
    options: str, word: str, part: str
) -> None:
    narrow = GOOD.replace(BOUNDS, options, 1)
    wider = narrow + OURS.format("widenedTypes", "evolve") + "\n"
    load(narrow, "orders.yaml")
    load(wider.replace("f32", "f64"), "orders.yaml")

    [(line, message)] = faults_of(wider)

    assert part in message
    assert "write the column with format: f64" in message
    assert word in wider.splitlines()[line - 1]


def test_a_part_of_a_column_may_be_a_float_that_files_widen() -> None:
    parts = "[{name: a, logicalType: number, logicalTypeOptions: {format: f32, maximum: 0.1}}]"
    text = GOOD.replace(AMOUNT, f"      - {{name: o, logicalType: object, properties: {parts}}}\n{AMOUNT}")

    [(_, message)] = faults_of(text + OURS.format("widenedTypes", "evolve") + "\n")

    assert "0.1 is another number in 32 bits" in message


def test_a_float_that_files_may_widen_is_compared_with_halves_and_whole_numbers() -> None:
    text = GOOD.replace(BOUNDS, "{format: f32, minimum: -0.5, exclusiveMaximum: 16777216}", 1)
    load(text + OURS.format("widenedTypes", "evolve") + "\n", "orders.yaml")


def line_of(text: str, expected: tuple[str, str]) -> tuple[int, str]:
    marker, part = expected
    at = text.index(marker) + len(marker) - len(marker.lstrip("\n"))
    return text.count("\n", 0, at) + 1, part


def test_a_scope_of_the_table_is_that_of_its_primary_key() -> None:
    setting = "    customProperties: [{property: scope, vendor: lakegate, value: table}]\n"
    text = GOOD.replace("        primaryKey: true\n", "").replace(ORDERS, ORDERS + setting)
    assert faults_of(text) == [
        (13, "scope without a primary key: it goes to each check that it is meant for"),
    ]


def test_all_faults_are_told_at_once_with_their_source() -> None:
    text = GOOD.replace("required: true", "requried: true").replace(BOUNDS, "{minimum: 9, maximum: 3}")

    with pytest.raises(ContractFaults) as caught:
        load(text, "contracts/orders.yaml")

    assert str(caught.value).splitlines() == [
        "contracts/orders.yaml:21: 'requried' is not a word of ODCS (did you mean 'required'?)",
        "contracts/orders.yaml:22: no value is left: minimum is 9.0 and maximum is 3.0",
    ]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("just text", 1, "a contract is a mapping"),
        ("- a\n- list", 1, "a contract is a mapping"),
        (b"id: x\nname: \xff\xfe", 2, "not UTF-8"),
        ("id: \x00", 1, "not YAML"),
        ("x: " + "a" * LARGEST, 1, "too many for a contract"),
        ("[" * 5000, 1, f"nested more than {DEEPEST} deep"),
        ("a: " + "[" * 50 + "]" * 50, 1, f"nested more than {DEEPEST} deep"),
        ("a: !!int x", 1, "cannot be read as int"),
        ("a: " + "9" * 5000, 1, "cannot be read as int"),
        ("a: -" + "9" * 39, 1, "has more than 38 digits"),
        ('a: "\\ud800"', 1, "cannot be read as str"),
        ('{"\\ud800": 1}', 1, "a key must be a plain word"),
        ("? [1]\n: 2", 1, "a key must be a plain word"),
    ],
)
def test_text_that_is_no_contract_is_refused_by_line(text: bytes | str, line: int, part: str) -> None:
    assert any(found == line and part in message for found, message in faults_of(text))


words = st.sampled_from(GOOD.replace("{", " ").replace("}", " ").replace(",", " ").split())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | words,
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(words | st.text(max_size=5), children, max_size=4)
    ),
    max_leaves=12,
)


@given(line=st.integers(min_value=0, max_value=GOOD.count("\n")), value=values)
def test_any_value_anywhere_is_read_or_refused_by_line(line: int, value: object) -> None:
    lines = GOOD.splitlines()
    lines[line - 1] = f"{lines[line - 1].split(':')[0]}: {value!r}"

    refused_by_line("\n".join(lines))


@given(text=st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_refused_by_line(text: bytes | str) -> None:
    assert faults_of(text)


@given(
    start=st.integers(min_value=0, max_value=len(GOOD)),
    length=st.integers(min_value=0, max_value=60),
    junk=st.text(alphabet=" \n:-[]{}&*!|>'\"%@`#,?x0.~", max_size=12),
)
def test_any_cut_in_a_contract_is_read_or_refused_by_line(start: int, length: int, junk: str) -> None:
    refused_by_line(GOOD[:start] + junk + GOOD[start + length :])


def refused_by_line(text: str) -> None:
    """Nothing but ContractFaults may come out, and each fault is on a line that exists."""
    faults: tuple[Fault, ...] = (Fault(line=1, message="it loads"),)
    try:
        load(text, "orders.yaml")
    except ContractFaults as refused:
        faults = refused.faults
    assert faults
    assert all(1 <= fault.line <= text.count("\n") + 1 and fault.message for fault in faults)


def test_nested_columns_are_read_from_parquet_alone() -> None:
    text = CSV.replace(AMOUNT, TAGS + "        items: {logicalType: string}\n" + AMOUNT)

    assert "nested columns are not read from csv" in [message for _, message in faults_of(text)]
