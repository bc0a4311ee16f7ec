"""ODCS's vocabulary and the answer to each word: enforced, description, or refused. It does not know how words are
enforced.

A word that is in no table here is misspelt. The words of sections that only describe are the JSON schema's matter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from typing import TypeVar

from lakegate.audit.model.limits import DEFAULTS
from lakegate.contracts.odcs.document import Document, Item

Member = TypeVar("Member", bound=StrEnum)


class Answer(StrEnum):
    """Answers to a word."""

    RULE = "enforced"  # it decides where data goes or which data is let through
    DESCRIBES = "description"  # it is for people and other tools: accepted, changes nothing
    ERROR = "refused"  # it would constrain data and is not enforced: an error when the contract is loaded


@dataclass(frozen=True, kw_only=True)
class Word:
    """One word at one place, and what a person should know of it."""

    answer: Answer
    remark: str = ""


Place = Mapping[str, Word]


def _enforced_words(**remarks: str) -> dict[str, Word]:
    return {word: Word(answer=Answer.RULE, remark=remark) for word, remark in remarks.items()}


def _refused_words(**remarks: str) -> dict[str, Word]:
    return {word: Word(answer=Answer.ERROR, remark=remark) for word, remark in remarks.items()}


def _describes(*words: str, **remarks: str) -> dict[str, Word]:
    return {word: Word(answer=Answer.DESCRIBES, remark=remarks.get(word, "")) for word in (*words, *remarks)}


OPERATORS = (
    "mustBe",
    "mustNotBe",
    "mustBeGreaterThan",
    "mustBeGreaterOrEqualTo",
    "mustBeLessThan",
    "mustBeLessOrEqualTo",
    "mustBeBetween",
    "mustNotBeBetween",
)

CONTRACT: Place = (
    _enforced_words(
        apiVersion="`v3.0.0` to `v3.2.0`",
        kind="`DataContract`",
        id="goes with every report",
        version="goes with every report",
        servers="exactly one is named `landing`: the route. The others are description",
        schema="exactly one table a contract",
        slaProperties="what is promised of the data, see below",
        customProperties="those with `vendor: lakegate`; other vendors' are description",
    )
    | _describes("name", "tenant", "tags", "status", "dataProduct", "description", "domain", "context", "support")
    | _describes("price", "team", "roles", "slaDefaultElement", "authoritativeDefinitions", "contractCreatedTs")
)

SERVER: Place = (
    _enforced_words(
        server="`landing` is the route",
        type="`s3`",
        location="`s3://landing/` and a key pattern: `*` is anything but `/`, `**` is anything. Objects "
        "without bytes whose names are a folder's, or begin with `_` or `.` (`_SUCCESS`), are passed over",
        format="`parquet`, `orc`, `avro`, `csv`, or `json`: an object a line",
        encoding="of text: `UTF-8` (the default), `US-ASCII`, `ISO-8859-1`, `ISO-8859-15`, `windows-1252`",
        delimiter="of `csv`: one character, `,` by default. Of `json`: `new_line`",
        customProperties="those with `vendor: lakegate`; other vendors' are description",
    )
    | _refused_words(endpointUrl="the landing bucket is the installation's own")
    | _describes("id", "description", "environment", "roles")
)

TABLE: Place = (
    _enforced_words(
        name="the table, unless `physicalName` says it",
        physicalName="`namespace.table` in lower case, such as `nyc.flights`, of 200 characters at most",
        logicalType="`object`",
        properties="the columns, in the table's order",
        quality="checks of the whole table, see below",
        customProperties="those with `vendor: lakegate`; other vendors' are description",
        relationships="foreign keys, see below",
    )
    | _describes("id", "physicalType", "description", "businessName", "deprecated", "synonyms", "tags", "context")
    | _describes("authoritativeDefinitions", "dataGranularityDescription")
)

COLUMN: Place = (
    _enforced_words(
        name="the column, unless `physicalName` says it",
        physicalName="the column's name in the table and in the files",
        logicalType="a type: [Types](types.md)",
        physicalType="a Spark SQL type; it wins over `logicalType`",
        logicalTypeOptions="see below",
        properties="of an `object`: its parts, each a column of its own",
        items="of an `array`: what its items are, a column without a name",
        map="of a `map`: its `key` and its `value`, columns without names",
        required="no nulls",
        unique="no value twice in a file, or with `scope: table` in the whole table; nulls don't count",
        primaryKey="the key's columns together: no value twice in a file (or the whole table), no nulls",
        primaryKeyPosition="1, 2, … in a key of several columns",
        partitioned="partitions the table by this column",
        partitionKeyPosition="1, 2, … where several columns partition the table",
        enum="no other values; nulls don't count",
        classification="values of a column that is anything but `public` are masked wherever failing rows are shown",
        quality="checks of the column, see below",
        customProperties="those with `vendor: lakegate`; other vendors' are description",
        relationships="foreign keys, see below",
    )
    | _describes("id", "businessName", "deprecated", "synonyms", "authoritativeDefinitions", "tags")
    | _describes("semanticType", "encryptedName", "transformSourceObjects", "transformLogic")
    | _describes("transformDescription", "examples", "criticalDataElement")
    | _describes(description="also the column's comment in the table")
)

_BOUNDS = _enforced_words(
    minimum="nulls don't count; NaN is outside every range",
    maximum="as `minimum`",
    exclusiveMinimum="as `minimum`; the bound itself is outside",
    exclusiveMaximum="as `minimum`; the bound itself is outside",
)

_MULTIPLE = "nulls don't count; infinity and NaN are multiples of nothing"
INTEGER_OPTIONS: Place = _BOUNDS | _enforced_words(format="`i32` or `i64`", multipleOf=_MULTIPLE)
NUMBER_OPTIONS: Place = _BOUNDS | _enforced_words(
    format="`f32` or `f64`",
    multipleOf=f"{_MULTIPLE}; a number as near to one as 15 digits can tell (six of an `f32`) is one",
)
DECIMAL_OPTIONS: Place = (
    _BOUNDS | _enforced_words(multipleOf=_MULTIPLE) | _refused_words(format="a decimal says its own digits")
)
DATE_OPTIONS: Place = _BOUNDS | _enforced_words(
    format="how text files spell it, such as `dd/MM/yyyy`; others have no spelling"
)
TIMESTAMP_OPTIONS: Place = (
    _BOUNDS
    | _enforced_words(
        timezone="`false` makes a `timestamp_ntz`; otherwise it is an instant, `timestamp`",
        defaultTimezone="`UTC` or `Etc/UTC`, which is how instants are kept",
    )
    | _enforced_words(format="how text files spell it, such as `dd/MM/yyyy HH:mm`; others have no spelling")
)
STRING_OPTIONS: Place = _enforced_words(
    minLength="characters (Unicode code points); `minLength: 1` forbids the empty text. Nulls don't count",
    maxLength="as `minLength`",
    pattern="a regular expression that each text must have somewhere in it (`^` and `$` tie it to the ends): "
    "[Check texts](../how-to/checks.md#texts)",
    format="[Check texts](../how-to/checks.md#texts) lists them; `password` and `binary` are description",
)
BINARY_OPTIONS: Place = _refused_words(
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "a binary column has no text")
)
OBJECT_OPTIONS: Place = _enforced_words(
    required="the names of properties that are not null where the object is there"
) | (
    _refused_words(
        minProperties="an object has all of its properties: say which are `required`",
        maxProperties="an object has all of its properties",
    )
)
ARRAY_OPTIONS: Place = _enforced_words(
    minItems="`minItems: 1` forbids the empty array. Nulls don't count",
    maxItems="as `minItems`",
    uniqueItems="no item twice in an array; two nulls are the same item",
)
NO_OPTIONS: Place = {}
MAP: Place = _enforced_words(key="a column without a name; it has no nulls", value="a column without a name")

ENUM_VALUE: Place = _enforced_words(value="of the column's type, not null") | _describes(
    "id", "label", "description", "customProperties", "authoritativeDefinitions", "tags"
)

QUALITY: Place = (
    _enforced_words(
        type="`library`; `sql` for a query; `custom` for a check of ours; `text` is description",
        metric="see below",
        arguments="see below",
        query="a query in SQL that gives one number, where the type is `sql`, see below",
        engine="`lakegate`, where the type is `custom`",
        implementation="one word that names the check, where the type is `custom`, see below",
        severity="`error` (the default) rejects the file, `warning` publishes it and notifies, `quarantine` "
        "quarantines the failing rows and publishes the rest: [Put bad rows aside](../how-to/quarantine.md)",
        unit="`rows` (the default) or `percent` of the file's rows; a statistic has none, and a query that counts no "
        "percentage",
    )
    | _enforced_words(**dict.fromkeys(OPERATORS, "exactly one operator a check; both bounds of a range belong to it"))
    | _refused_words(
        rule="it is called `metric` since v3.1",
        method="not enforced",
    )
    | _enforced_words(customProperties="those with `vendor: lakegate`; other vendors' are description")
    | _describes("id", "authoritativeDefinitions", "businessImpact", "description", "dimension")
    | _describes(
        "tags",
        name="what reports call the check",
        schedule="every file is checked when it arrives",
        scheduler="every file is checked when it arrives",
    )
)

RELATIONSHIP: Place = _enforced_words(
    **{"from": "of the table: `table.column` of this table, or a list of several for a key of several columns"},
    to="`namespace.table.column` of a table in the lake, or a list of as many as there are columns in the key",
    type="`foreignKey`: every row must find its key among the other table's rows on main (of this table, also among "
    "the rows of its own file and of good ones before it); a null in it makes it no key",
) | _describes("id", "customProperties")

SLA: Place = (
    _describes("generalAvailability", "endOfSupport", "endOfLife", "timeToDetect", "timeToNotify", "timeToRepair")
    | _enforced_words(
        latency="`element` is a date or timestamp: its newest value in a file is at most `value` `unit` old",
        freshness="another word for `latency`",
    )
    | _refused_words(
        frequency="files that never come cannot be judged",
        retention="lakegate deletes no row",
        errorRate="say it of a column, as a percentage in `quality`",
    )
    | _refused_words(**dict.fromkeys(("timeOfAvailability", "throughput", "availability"), "nothing here measures it"))
)

_SCOPE = "`table`: the whole table counts; `batch` (the default): each file on its own"
COLUMN_SETTINGS: Place = _enforced_words(
    nullValues="of `csv`: the list of fields that are null in this column, in place of the landing server's list; `[]` "
    "for none",
    partitionTransform="if `partitioned`: `identity`, `years`, `months`, `days`, `hours`, `bucket[16]`, `truncate[4]`; "
    "two columns of one decimal type (with `widenedTypes: evolve`, of as many places) only if one of them is by "
    "buckets",
    scope=f"if `unique`. {_SCOPE}",
    severity="of the column's own words (`required`, `enum`, its options, …), not of its `quality`: `error` (if not "
    "said), `warning` or `quarantine`; a key of several columns is as severe as the severest of them",
)
QUALITY_SETTINGS: Place = _enforced_words(scope=f"of `duplicateValues` and `rowCount`. {_SCOPE}")

TABLE_SETTINGS: Place = _enforced_words(
    mode="`enforce` (the default) does what checks say; `observe` publishes everything that can be appended, and "
    "reports what enforcing would have rejected or quarantined ([Observe before you enforce](../how-to/observe.md))",
    quarantineBudget="if a check has severity `quarantine`: how many rows of a file may go, `{rows: 100}` or "
    "`{percent: 1}`; past it the file is rejected",
    newColumns="a column that the contract does not have: `freeze` (the default) rejects the file, `evolve` adds it to "
    "the table, `discard` does not read it",
    missingColumns="a column that the file does not have: `freeze` (the default) rejects the file, `allow` fills it "
    "with nulls",
    widenedTypes="`bigint` for `int`, `double` for `float`, a decimal with more digits: `freeze` (the default) rejects "
    "the file, `evolve` widens the table's column",
    narrowedTypes="`int` for `bigint` and the like: `allow` (the default) or `freeze`",
    notify="what else Slack reports: `[published]` asks for a message of each batch that is published "
    "without a remark, too; none by default",
    branchDays="how many days the branch of a rejected batch is kept after people were notified; 30 by default. They "
    "are notified again before it goes",
    reorderedColumns="columns in another order than the contract's: `allow` (the default) or `freeze`",
    scope=f"if it has a primary key, of that. {_SCOPE}",
    reuploads="other bytes under a key whose rows are on main: `replace` (the default) publishes their rows in the "
    "place of those, `append` on top of them, `ignore` discards them, `reject` rejects them and notifies",
    engine="what audits its files: `auto` (the default) takes the express lane for small batches that it can audit, "
    "and Spark for all others; `express` takes it for larger batches, too, as far as it can audit them; `spark` never "
    "takes it. The verdicts are the same. Files that go to Spark wait for others of their table for up to "
    "`batch_window`, and small ones of a quiet table start at once "
    "([Waiting for company](lifecycle.md#waiting-for-company))",
    write="how rows come to the table: `append` (the default) writes them anew, in the table's own layout. `register` "
    "is refused ([Registered files](../how-to/upgrading.md#registered-files))",
    batchFiles="how many files are ingested together at most; 1 to 1,000, the default. A batch that has so many "
    "waits for no more ([Waiting for company](lifecycle.md#waiting-for-company)). A retry cuts a batch by the limit of "
    "then ([Retry after an outage](../how-to/restoring.md#after-an-outage))",
    batchBytes="how many bytes at most; 100,000,000,000 by default. A larger file is a batch of its own",
)

SERVER_SETTINGS: Place = _enforced_words(
    header="of `csv`: whether the first line names the columns; `true` by default",
    quote='of `csv`: `"` by default; an empty text for none',
    escape="of `csv`: what stands before a quote within quotes; the quote itself by default",
    nullValues='of `csv`: the list of fields that are null, `[""]` by default; a column may have a list of its own',
    multiLine="of `csv`: whether a field in quotes may hold line ends; `false` by default",
    compression="of text: `none`, `gzip`, `bzip2`, `zstd`; by the ending of the file's name by default",
    dateFormat="of text: how dates are spelled where the column does not say it, such as `dd/MM/yyyy`",
    timestampFormat="of text: the same for timestamps, such as `yyyy-MM-dd'T'HH:mm:ssXXX`",
    severity="of text: what becomes of rows that do not parse: `error` (the default) rejects the file, `quarantine` "
    "quarantines them",
    maxBytes=f"of a file: {DEFAULTS.bytes:,} by default",
    maxUncompressedBytes=f"{DEFAULTS.uncompressed:,} by default: as parquet and ORC declare it; text and blocks of "
    "Avro are counted as they are uncompressed",
    maxRows=f"{DEFAULTS.rows:,} by default",
    maxRowGroups=f"of parquet, and stripes of ORC: {DEFAULTS.row_groups:,} by default",
    maxBlocks=f"of Avro: {DEFAULTS.blocks:,} by default",
    maxColumns=f"{DEFAULTS.columns:,} by default; the parts of nested ones count, too, as the file's schema has "
    "them: a list in parquet is three",
    maxNesting=f"of parquet, ORC and Avro: {DEFAULTS.nesting:,} by default; "
    "a column that is not nested has 1, and a list in parquet 3",
    maxFooterBytes=f"of parquet's and ORC's footers and Avro's headers: {DEFAULTS.footer:,} by default",
    maxLineBytes=f"of text, or of a row where fields hold line ends: {DEFAULTS.line:,} by default",
)
EVERY_SETTING = (*COLUMN_SETTINGS, *QUALITY_SETTINGS, *TABLE_SETTINGS, *SERVER_SETTINGS)

OWN_VENDOR = "lakegate"
_SETTINGS = {
    ("servers",): SERVER_SETTINGS,
    ("schema", "properties"): COLUMN_SETTINGS,
    ("schema",): TABLE_SETTINGS,
    ("schema", "quality"): QUALITY_SETTINGS,
    ("schema", "properties", "quality"): QUALITY_SETTINGS,
}


_LONGEST = 60  # letters of a word that people misspell
_MOST_WORDS = 1_000  # words that it is compared with


def hint(word: str, words: Iterable[str]) -> str:
    """Return ` (did you mean 'required'?)`, or nothing if no known word is near."""
    if len(word) > _LONGEST:
        return ""
    by_lower = {str(name).lower(): str(name) for name in islice(words, _MOST_WORDS) if len(str(name)) <= _LONGEST}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def one_of(entry: Item, members: Iterable[Member], name: str) -> Member | None:
    """Return the one of `members` that the value is; return None, and note a fault, if it is none of them."""
    if (member := next((member for member in members if member == entry.value), None)) is None:
        *front, last = members
        near = hint(str(entry.value), members)
        entry.fault(f"{name} is {entry.value!r}, and it can be {', '.join(front)} or {last}{near}")
    return member


def check_words(item: Item, place: Place, *, vocabulary: str = "ODCS") -> None:
    """Note a fault for every word of the mapping that the place does not know or that is refused there."""
    for word in item.value:
        path = (*item.path, word)
        if path in item.document.closed_paths:
            continue
        if word not in place:
            item.document.close(path, f"{word!r} is not a word of {vocabulary}{hint(word, place)}")
        elif place[word].answer is Answer.ERROR:
            item.document.close(path, f"{word!r} is refused: {place[word].remark}")


def check_vocabulary(document: Document) -> None:
    """Note a fault for every unknown or refused word at the places that the tables above describe."""
    root = Item(document=document, path=(), value=document.root)
    check_words(root, CONTRACT)
    _check_settings(root)
    for table in _mappings(root, "schema"):
        check_words(table, TABLE)
        _check_quality(table)
        for column in _mappings(table, "properties"):
            _check_column(column)


def _check_column(column: Item) -> None:
    check_words(column, COLUMN)
    _check_quality(column)
    for value in _mappings(column, "enum"):
        check_words(value, ENUM_VALUE)
    for part in (*_mappings(column, "properties"), *_mapping(column, "items")):
        _check_column(part)
    for entries in _mapping(column, "map"):
        check_words(entries, MAP)
        for part in (*_mapping(entries, "key"), *_mapping(entries, "value")):
            _check_column(part)


def _check_settings(item: Item) -> None:
    """Note a fault for each of our properties that means nothing at its place, and for one without its vendor."""
    if isinstance(item.value, dict | list):
        for step, value in item.value.items() if isinstance(item.value, dict) else enumerate(item.value):
            _check_settings(Item(document=item.document, path=(*item.path, step), value=value))
    if item.path[-2:-1] != ("customProperties",) or not isinstance(item.value, dict):
        return
    name, vendor = str(item.value.get("property")), item.value.get("vendor")
    settings = _SETTINGS.get(tuple(str(step) for step in item.path[:-2] if isinstance(step, str)), {})
    if vendor != OWN_VENDOR and str(vendor).strip().lower() == OWN_VENDOR:
        item.fault(f"the vendor {vendor!r} is {OWN_VENDOR!r}, as it stands", f"vendor: {OWN_VENDOR}")
    elif vendor == OWN_VENDOR and name not in settings:
        item.fault(f"{name!r} is no setting of {OWN_VENDOR} here{hint(name, settings or EVERY_SETTING)}")
    elif vendor is None and name in settings:
        item.fault(f"{name!r} takes effect with `vendor: {OWN_VENDOR}` beside it", f"vendor: {OWN_VENDOR}")


def _check_quality(item: Item) -> None:
    for quality in _mappings(item, "quality"):
        check_words(quality, QUALITY)


def _mappings(item: Item, word: str) -> list[Item]:
    value = item.value.get(word)
    if not isinstance(value, list):
        return []
    return [entry for entry in item.entries(word) if isinstance(entry.value, dict)]


def _mapping(item: Item, word: str) -> list[Item]:
    entry = item.get(word)
    return [entry] if entry and isinstance(entry.value, dict) else []
