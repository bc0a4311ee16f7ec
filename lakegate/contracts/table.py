"""A contract's one table as a plan: columns, key and partitions, with the checks of each. It knows no route."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lakegate.audit.model.codec import to_plain
from lakegate.audit.model.files import PARQUET
from lakegate.audit.model.plan import MetricKind, Mode, Plan, SchemaPolicy, Severity, Stance, TableColumn
from lakegate.audit.schema.names import fold
from lakegate.audit.schema.partitions import IDENTITY, Partition
from lakegate.contracts.checks.check import Checked, checked, without_repeats
from lakegate.contracts.checks.column_rules import column_checks, primary_key_checks, warned
from lakegate.contracts.checks.custom import COLUMN, TABLE
from lakegate.contracts.checks.promises import promise_checks
from lakegate.contracts.checks.quality import QueryContext, quality_checks
from lakegate.contracts.checks.quarantine import budget_of
from lakegate.contracts.checks.relationships import Referring, column_foreign_keys, table_foreign_keys
from lakegate.contracts.columns.fields import Fields
from lakegate.contracts.columns.reader import Read, check_names, check_places, read_column, widened
from lakegate.contracts.files.formats import FileSettings, parse_checks, with_spellings
from lakegate.contracts.files.schema_policy import policy_of
from lakegate.contracts.metrics.metric import fingerprint
from lakegate.contracts.metrics.rows import nulls
from lakegate.contracts.odcs import examples, vocabulary
from lakegate.contracts.odcs.document import Document, Item
from lakegate.contracts.odcs.settings import choice, setting

_PARTITION = "partitionTransform"
_PUBLIC = "public"
_NESTED = ("properties", "items", "map", "key", "value")  # where a nested column's parts stand
_OF_VALUES = (MetricKind.DUPLICATES, MetricKind.ORPHANS, MetricKind.VALUE)
_UNSAID = -1  # the standard's way of saying that a position isn't given
_TRANSFORM = re.compile(r"(identity|years|months|days|hours)|(bucket|truncate)\[([1-9][0-9]{0,5})\]")


def plan_of(table: Item, name: str, root: Item, files: FileSettings | None) -> Plan:
    """Return the plan as far as the table could be read: the document's faults say whether that is all of it."""
    files = files or FileSettings(form=PARQUET)
    policy = policy_of(table)
    columns = [read for item in table.each("properties") if (read := read_column(item))]
    if policy.widened_types is Stance.EVOLVE:
        columns = list(map(widened, columns))
    if not table.has("properties") or table.plain("properties") == []:
        table.fault("the table has no columns: list them under 'properties'", examples.COLUMNS)
    check_names(columns)
    check_places(columns)
    for read in columns:
        if read.parts and files.form.kind.is_text:
            read.item.fault(f"nested columns are not read from {files.form.kind}")
    key = _ordered(columns, "primaryKey", "primaryKeyPosition")
    promised = promise_checks(root, str(table.plain("name", "")), Fields(read.field for read in columns))
    found = [*parse_checks(files), *_checks(table, name, columns, key), *promised]
    checks, metrics = without_repeats(sorted(found, key=lambda made: made[0].line))
    plan = Plan(
        table=name,
        contract_id=root.plain("id", ""),
        contract_version=root.plain("version", ""),
        contract_hash="",
        columns=tuple(_planned(read) for read in columns),
        partitions=_partitions(columns, policy),
        metrics=tuple(metrics),
        checks=tuple(checks),
        budget=budget_of(table, found),
        key=tuple(read.field.name for read in key),
        policy=policy,
        files=with_spellings(files, [(read.field, read.item) for read in columns]),
        mode=choice(table, "mode", Mode),
    )
    return replace(plan, contract_hash=contract_hash(plan))


def contract_hash(plan: Plan) -> str:
    """Return a hash of what the contract demands: not of its words, its version, its order of checks or its
    comments.
    """
    columns = [(column.name, column.type) for column in plan.columns]
    said: list[object] = [plan.table, columns, plan.partitions, sorted(check.id for check in plan.checks)]
    if plan.policy != SchemaPolicy():  # so that a contract that says nothing of it stays the same contract
        said.append(plan.policy)
    if plan.budget:
        said.append(plan.budget)
    if plan.files.kind.is_text:  # in another format the same text is other rows; limits only say which files are taken
        form = to_plain(plan.files)
        said.append(
            {word: value for word, value in form.items() if word != "limits" and (value or word != "column_nulls")}
        )
    if plan.mode is not Mode.ENFORCE:  # what was observed is not what a contract that enforces has let through
        said.append(plan.mode)
    return fingerprint(said, length=64)


def _checks(table: Item, name: str, columns: Sequence[Read], key: Sequence[Read]) -> list[Checked]:
    fields = Fields(read.field for read in columns)
    severities = {read.field.name: choice(read.item, "severity", Severity) for read in columns}
    names = frozenset({name, str(table.plain("name", name))})
    own = Referring(table=name, names=names, fields=fields, severities=severities)
    around = QueryContext(fields=fields, names=names)
    found = primary_key_checks(
        [(read.field, _line(read, "primaryKey"), severities[read.field.name]) for read in key], table
    )
    for read in columns:
        found += [
            *_own_checks(read, severities[read.field.name]),
            *quality_checks(read.item, COLUMN, Fields([read.field]), around),
            *column_foreign_keys(read.item, read.field, own),
        ]
    found += [*quality_checks(table, TABLE, fields, around), *table_foreign_keys(table, own)]
    _refuse_of_nested(found, table.document, columns)
    return found


def _own_checks(read: Read, severity: Severity) -> list[Checked]:
    """Return the checks of a column's own words and of its parts'."""
    checks = [*column_checks(read.field, read.item, severity), *_required_properties(read, severity)]
    return checks + [made for part in read.parts for made in _own_checks(part, severity)]


def _required_properties(read: Read, severity: Severity) -> list[Checked]:
    """Return the checks of an object's option `required`."""
    options = read.item.get("logicalTypeOptions")
    names = options.get("required") if options and read.field.type.kind == "struct" else None
    parts = {part.item.plain("name"): part.field for part in read.parts}
    found = []
    for name in names.members() if names else ():
        if name.value in parts:
            field = parts[name.value]
            says = f"{field.label} required"
            made = checked(says, nulls(field), name.line, severity=severity, loosened=warned(field))
            found.append(made)
        else:
            name.fault(f"{read.field.label} has no property {name.value!r}{vocabulary.hint(str(name.value), parts)}")
    return found


def _refuse_of_nested(found: Sequence[Checked], document: Document, columns: Sequence[Read]) -> None:
    """Refuse checks that compare or add up values, if they are of nested columns."""
    nested = {read.field.name for read in columns if read.parts}
    for check, metric in found:
        if metric.kind in _OF_VALUES and (names := nested & set(metric.columns)):
            text = f"the nested column {min(names)!r} has no values that compare: {check.name} cannot be checked"
            document.tell(check.line, text)


def _line(read: Read, word: str) -> int:
    return read.item.document.line((*read.item.path, word))


def _planned(read: Read) -> TableColumn:
    doc = " ".join(str(read.item.plain("description", "")).split())
    return TableColumn(name=read.field.name, type=read.field.type.name, doc=doc, masked=_is_masked(read.item.value))


def _is_masked(value: object) -> bool:
    """Return True if a column, or anything nested in it, is classified as other than public."""
    if isinstance(value, list):
        return any(map(_is_masked, value))
    if not isinstance(value, dict):
        return False
    said = value.get("classification")
    return (said is not None and str(said).strip().lower() != _PUBLIC) or any(
        _is_masked(value.get(at)) for at in _NESTED
    )


def _ordered(columns: Sequence[Read], flag: str, position: str) -> list[Read]:
    """Return the flagged columns in the order of their positions, or in the table's if none is given."""
    flagged = [read for read in columns if read.item.plain(flag) is True]
    given = [(read, at) for read in columns if (at := read.item.get(position)) and at.value != _UNSAID]
    known = set(map(id, flagged))  # by identity: comparing them goes through all of their parts
    for read, at in given:
        if id(read) not in known:
            at.fault(f"{position} without {flag}: true")
    if not given:
        return flagged
    places = {id(read): at.value for read, at in given}
    if sorted(places.get(id(read), 0) for read in flagged) != list(range(1, len(flagged) + 1)):
        given[0][1].fault(f"{position} counts 1, 2, … over all columns with {flag}: true, each once")
    return sorted(flagged, key=lambda read: places.get(id(read), 0))


def _partitions(columns: Sequence[Read], policy: SchemaPolicy) -> tuple[str, ...]:
    names = {fold(read.field.name) for read in columns}
    for read in columns:
        if setting(read.item, _PARTITION) and read.item.plain("partitioned") is not True:
            read.item.fault(f"{_PARTITION} without partitioned: true", "partitioned: true")
    partitioned = _ordered(columns, "partitioned", "partitionKeyPosition")
    _refuse_same_decimals(partitioned, widen=policy.widened_types is Stance.EVOLVE)
    found = [_partition(read, names) for read in partitioned]
    return tuple(sql for sql in found if sql)


def _refuse_same_decimals(partitioned: Sequence[Read], *, widen: bool) -> None:
    """Refuse two partitions by the same decimal type. Iceberg's manifests define a decimal type where a partition first
    has it and then call it by name, which PyIceberg cannot read: nothing but the first files of such a table could
    ever be published. If files may `widen` them, decimals with as many places may become the same type.
    """
    first: dict[str, Read] = {}
    for read in partitioned:
        said, name = setting(read.item, _PARTITION), read.field.type.name
        if read.field.type.kind != "decimal" or (said and str(said.plain("value")).startswith("bucket")):
            continue
        other = first.setdefault(name.rpartition(",")[2] if widen else name, read)
        if other is not read:
            may, more = (", for files may make them one type", "places") if widen else ("", "digits")
            why = f"the table's manifests could not be read: take bucket[16] for one of the two, or other {more}"
            text = f"{read.field.name!r} can't partition the table by {name} beside {other.field.name!r}{may}: {why}"
            (said or read.item).fault(text)


def _partition(read: Read, names: set[str]) -> str | None:
    said = setting(read.item, _PARTITION)
    text = said.plain("value") if said else IDENTITY
    if (match := _TRANSFORM.fullmatch(str(text))) is None:
        known = "identity, years, months, days, hours, bucket[16] or truncate[4]"
        (said or read.item).fault(f"{text!r} is no partition transform: write {known}")
        return None
    name, width = match[1] or match[2], int(match[3]) if match[3] else None
    made = Partition(column=read.field.name, transform=name, width=width)
    if name not in read.field.type.transforms:
        instead = ": take bucket[16], or do without" if "bucket" in read.field.type.transforms else ""
        text = f"{read.field.name!r} is {read.field.type.name}, which {name} cannot partition{instead}"
        (said or read.item).fault(text)
    elif name != "bucket" and _is_masked(read.item.value):
        hidden = "its values are masked, and would stand in the names of data files: take bucket[16], or do without"
        (said or read.item).fault(f"{read.field.name!r} can't partition the table by {name}: {hidden}")
    elif name != IDENTITY and fold(made.field) in names:
        read.item.fault(f"{name} would need the name {made.field} for itself, and a column has it")
    else:
        return str(made)
    return None
