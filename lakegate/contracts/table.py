"""A contract's one table as a plan: columns, key and partitions, with the checks of each. It knows no route."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lakegate.audit.model.codec import to_plain
from lakegate.audit.model.files import PARQUET
from lakegate.audit.model.plan import Mode, Plan, SchemaPolicy, Severity, Stance, TableColumn, Trait
from lakegate.audit.schema.names import fold
from lakegate.audit.schema.partitions import IDENTITY, Partition
from lakegate.contracts.checks.check import CheckWithMetric, check_of, without_repeats
from lakegate.contracts.checks.column_rules import column_checks, primary_key_checks, warning_lines_of
from lakegate.contracts.checks.custom import COLUMN, TABLE
from lakegate.contracts.checks.promises import promise_checks
from lakegate.contracts.checks.quality import QueryContext, quality_checks
from lakegate.contracts.checks.quarantine import budget_of
from lakegate.contracts.checks.relationships import KeyOwner, column_foreign_keys, table_foreign_keys
from lakegate.contracts.columns.fields import Fields
from lakegate.contracts.columns.reader import Read, check_names, check_places, read_column, with_wider_types
from lakegate.contracts.files.formats import FileSettings, parse_checks, with_spellings
from lakegate.contracts.files.schema_policy import policy_of
from lakegate.contracts.metrics.metric import fingerprint
from lakegate.contracts.metrics.rows import nulls
from lakegate.contracts.odcs import examples, vocabulary
from lakegate.contracts.odcs.document import Document, Item
from lakegate.contracts.odcs.settings import choice, setting

_PARTITION = "partitionTransform"
_PUBLIC = "public"
_NESTED_WORDS = ("properties", "items", "map", "key", "value")  # places of a nested column's parts
_UNSAID = -1  # the standard's way of saying that a position isn't given
_TRANSFORM = re.compile(r"(identity|years|months|days|hours)|(bucket|truncate)\[([1-9][0-9]{0,5})\]")


def plan_of(table: Item, name: str, root: Item, files: FileSettings | None) -> Plan:
    """Return the plan as far as the table could be read: the document's faults say whether that is all of it."""
    files = files or FileSettings(form=PARQUET)
    policy = policy_of(table)
    columns = [read for item in table.entries("properties") if (read := read_column(item))]
    if policy.widened_types is Stance.EVOLVE:
        columns = list(map(with_wider_types, columns))
    if not table.has("properties") or table.plain("properties") == []:
        table.fault("the table has no columns: list them under 'properties'", examples.COLUMNS)
    check_names(columns)
    check_places(columns)
    for read in columns:
        if read.parts and files.form.kind.is_text:
            read.item.fault(f"nested columns are not read from {files.form.kind}")
    key = _in_stated_order(columns, "primaryKey", "primaryKeyPosition")
    promises = promise_checks(root, str(table.plain("name", "")), Fields(read.field for read in columns))
    all_checks = [*parse_checks(files), *_checks(table, name, columns, key), *promises]
    checks, metrics = without_repeats(sorted(all_checks, key=lambda pair: pair[0].line))
    plan = Plan(
        table=name,
        contract_id=root.plain("id", ""),
        contract_version=root.plain("version", ""),
        contract_hash="",
        columns=tuple(_plan_column(read) for read in columns),
        partitions=_partitions(columns, policy),
        metrics=tuple(metrics),
        checks=tuple(checks),
        budget=budget_of(table, all_checks),
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
    demands: list[object] = [plan.table, columns, plan.partitions, sorted(check.id for check in plan.checks)]
    if plan.policy != SchemaPolicy():  # so that a contract that says nothing of it stays the same contract
        demands.append(plan.policy)
    if plan.budget:
        demands.append(plan.budget)
    if plan.files.kind.is_text:  # in another format the same text is other rows; limits only say which files are taken
        form = to_plain(plan.files)
        demands.append(
            {word: value for word, value in form.items() if word != "limits" and (value or word != "column_nulls")}
        )
    if plan.mode is not Mode.ENFORCE:  # what was observed is not what a contract that enforces has let through
        demands.append(plan.mode)
    return fingerprint(demands, length=64)


def _checks(table: Item, name: str, columns: Sequence[Read], key: Sequence[Read]) -> list[CheckWithMetric]:
    fields = Fields(read.field for read in columns)
    severities = {read.field.name: choice(read.item, "severity", Severity) for read in columns}
    names = frozenset({name, str(table.plain("name", name))})
    owner = KeyOwner(table=name, names=names, fields=fields, severities=severities)
    context = QueryContext(fields=fields, names=names)
    checks = primary_key_checks(
        [(read.field, _line(read, "primaryKey"), severities[read.field.name]) for read in key], table
    )
    for read in columns:
        checks += [
            *_own_checks(read, severities[read.field.name]),
            *quality_checks(read.item, COLUMN, Fields([read.field]), context),
            *column_foreign_keys(read.item, read.field, owner),
        ]
    checks += [*quality_checks(table, TABLE, fields, context), *table_foreign_keys(table, owner)]
    _refuse_of_nested(checks, table.document, columns)
    return checks


def _own_checks(read: Read, severity: Severity) -> list[CheckWithMetric]:
    """Return the checks of a column's own words and of its parts'."""
    checks = [*column_checks(read.field, read.item, severity), *_required_properties(read, severity)]
    return checks + [check for part in read.parts for check in _own_checks(part, severity)]


def _required_properties(read: Read, severity: Severity) -> list[CheckWithMetric]:
    """Return the checks of an object's option `required`."""
    options = read.item.get("logicalTypeOptions")
    names = options.get("required") if options and read.field.type.kind == "struct" else None
    parts = {part.item.plain("name"): part.field for part in read.parts}
    checks = []
    for name in names.members() if names else ():
        if name.value in parts:
            field = parts[name.value]
            sentence = f"{field.label} required"
            check = check_of(
                sentence, nulls(field), name.line, severity=severity, warning_lines=warning_lines_of(field)
            )
            checks.append(check)
        else:
            name.fault(f"{read.field.label} has no property {name.value!r}{vocabulary.hint(str(name.value), parts)}")
    return checks


def _refuse_of_nested(checks: Sequence[CheckWithMetric], document: Document, columns: Sequence[Read]) -> None:
    """Refuse checks that compare or add up values, if they are of nested columns."""
    nested_names = {read.field.name for read in columns if read.parts}
    for check, metric in checks:
        if metric.has(Trait.VALUES) and (names := nested_names & set(metric.columns)):
            text = f"the nested column {min(names)!r} has no values that compare: {check.name} cannot be checked"
            document.report(check.line, text)


def _line(read: Read, word: str) -> int:
    return read.item.document.line((*read.item.path, word))


def _plan_column(read: Read) -> TableColumn:
    doc = " ".join(str(read.item.plain("description", "")).split())
    return TableColumn(name=read.field.name, type=read.field.type.name, doc=doc, masked=_is_masked(read.item.value))


def _is_masked(value: object) -> bool:
    """Return True if a column, or anything nested in it, is classified as other than public."""
    if isinstance(value, list):
        return any(map(_is_masked, value))
    if not isinstance(value, dict):
        return False
    classification = value.get("classification")
    return (classification is not None and str(classification).strip().lower() != _PUBLIC) or any(
        _is_masked(value.get(at)) for at in _NESTED_WORDS
    )


def _in_stated_order(columns: Sequence[Read], flag: str, position: str) -> list[Read]:
    """Return the flagged columns in the order of their positions, or in the table's if none is given."""
    columns_with_flag = [read for read in columns if read.item.plain(flag) is True]
    positions = [(read, at) for read in columns if (at := read.item.get(position)) and at.value != _UNSAID]
    ids_with_flag = set(map(id, columns_with_flag))  # by identity: comparing them goes through all of their parts
    for read, at in positions:
        if id(read) not in ids_with_flag:
            at.fault(f"{position} without {flag}: true")
    if not positions:
        return columns_with_flag
    places = {id(read): at.value for read, at in positions}
    if sorted(places.get(id(read), 0) for read in columns_with_flag) != list(range(1, len(columns_with_flag) + 1)):
        positions[0][1].fault(f"{position} counts 1, 2, … over all columns with {flag}: true, each once")
    return sorted(columns_with_flag, key=lambda read: places.get(id(read), 0))


def _partitions(columns: Sequence[Read], policy: SchemaPolicy) -> tuple[str, ...]:
    names = {fold(read.field.name) for read in columns}
    for read in columns:
        if setting(read.item, _PARTITION) and read.item.plain("partitioned") is not True:
            read.item.fault(f"{_PARTITION} without partitioned: true", "partitioned: true")
    partition_columns = _in_stated_order(columns, "partitioned", "partitionKeyPosition")
    _refuse_same_decimals(partition_columns, widen=policy.widened_types is Stance.EVOLVE)
    partitions = [_partition(read, names) for read in partition_columns]
    return tuple(sql for sql in partitions if sql)


def _refuse_same_decimals(partition_columns: Sequence[Read], *, widen: bool) -> None:
    """Refuse two partitions by the same decimal type. Iceberg's manifests define a decimal type where a partition first
    has it and then call it by name, which PyIceberg cannot read: nothing but the first files of such a table could
    ever be published. If files may `widen` them, decimals with as many places may become the same type.
    """
    first: dict[str, Read] = {}
    for read in partition_columns:
        entry, name = setting(read.item, _PARTITION), read.field.type.name
        if read.field.type.kind != "decimal" or (entry and str(entry.plain("value")).startswith("bucket")):
            continue
        other = first.setdefault(name.rpartition(",")[2] if widen else name, read)
        if other is not read:
            may, noun = (", for files may make them one type", "places") if widen else ("", "digits")
            reason = f"the table's manifests could not be read: take bucket[16] for one of the two, or other {noun}"
            text = f"{read.field.name!r} can't partition the table by {name} beside {other.field.name!r}{may}: {reason}"
            (entry or read.item).fault(text)


def _partition(read: Read, names: set[str]) -> str | None:
    entry = setting(read.item, _PARTITION)
    text = entry.plain("value") if entry else IDENTITY
    if (match := _TRANSFORM.fullmatch(str(text))) is None:
        transforms = "identity, years, months, days, hours, bucket[16] or truncate[4]"
        (entry or read.item).fault(f"{text!r} is no partition transform: write {transforms}")
        return None
    name, width = match[1] or match[2], int(match[3]) if match[3] else None
    partition = Partition(column=read.field.name, transform=name, width=width)
    if name not in read.field.type.transforms:
        hint = ": take bucket[16], or do without" if "bucket" in read.field.type.transforms else ""
        text = f"{read.field.name!r} is {read.field.type.name}, which {name} cannot partition{hint}"
        (entry or read.item).fault(text)
    elif name != "bucket" and _is_masked(read.item.value):
        reason = "its values are masked, and would stand in the names of data files: take bucket[16], or do without"
        (entry or read.item).fault(f"{read.field.name!r} can't partition the table by {name}: {reason}")
    elif name != IDENTITY and fold(partition.field) in names:
        read.item.fault(f"{name} would need the name {partition.field} for itself, and a column has it")
    else:
        return str(partition)
    return None
