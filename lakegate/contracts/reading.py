"""Reading of a contract's text: YAML, vocabulary, the standard's schema, then meaning, with every step's faults.

It decides the table and the landing keys; it leaves columns and checks to `table`, `checks` and `quality`.
"""

import re

import structlog

from lakegate.audit.model.plan import Plan
from lakegate.contracts.contract import BRANCH_DAYS, MOST_DAYS, Contract
from lakegate.contracts.files.formats import file_settings
from lakegate.contracts.files.ingestion import ingestion_of
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import BrokenDocument, Document, Item, TooManyFaults, parse
from lakegate.contracts.odcs.examples import EXAMPLES, LANDING, PHYSICAL_NAME
from lakegate.contracts.odcs.json_schema import check_json_schema, server_words
from lakegate.contracts.odcs.settings import choices, whole_number
from lakegate.contracts.odcs.size_limits import check_size
from lakegate.contracts.table import plan_of
from lakegate.errors import Fault, Misconfigured
from lakegate.landing import canary
from lakegate.landing.ingestion import Ingestion, Notice
from lakegate.landing.routes import Route

_TABLE_NAME = re.compile(rf"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*|{re.escape(canary.TABLE)}")
LONGEST_TABLE = 200  # characters: an attempt's branch has some thirty more, and a job run of that name up to 256
_LANDING = "s3://landing/"
_VERSION = "v3."


def read(text: bytes | str) -> tuple[Contract | None, list[Fault]]:
    """Return the contract, or the faults that keep it from being one, in the order of their lines. Raise nothing, so
    that one contract that its reader cannot bear does not hold up others.
    """
    document = Document()
    try:
        contract = _read(text, document)
    except BrokenDocument as failure:
        return None, [failure.fault]
    except TooManyFaults as surplus:
        return None, [*_sorted_faults(document), surplus.fault]
    except Exception as error:  # noqa: BLE001 - any failure on a stranger's text is a fault of that text
        return None, [*_sorted_faults(document), _unforeseen(error, document.line(document.at))]
    return (None if document.faults else contract), _sorted_faults(document)


def _read(text: bytes | str, document: Document) -> Contract | None:
    parse(text, document)
    if not isinstance(document.root, dict):
        if not document.faults:
            document.fault((), "a contract is a mapping of ODCS's words, such as `id: flights`")
        return None
    check_size(document)
    vocabulary.check_vocabulary(document)
    check_json_schema(document)
    return _contract(Item(document=document, path=(), value=document.root))


def _unforeseen(error: Exception, line: int) -> Fault:
    """Return a fault of our own, for which the contract is refused all the same. The error's message may be anything,
    so only its type is reported.
    """
    kind = type(error).__name__
    structlog.get_logger().error("contract_not_readable", error=kind, line=line, at=_raised_at(error))
    return Fault(line=line, message=f"lakegate cannot read on from here ({kind}): a fault of its own, please report it")


def _raised_at(error: Exception) -> str:
    """Return the function and its line, without a look at any file: there may be no memory left."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    return f"{frame.tb_frame.f_code.co_qualname}:{frame.tb_lineno}" if frame else ""


def _sorted_faults(document: Document) -> list[Fault]:
    return sorted(set(document.faults), key=lambda fault: (fault.line, fault.message))


def _contract(root: Item) -> Contract | None:
    version = root.get("apiVersion")
    if version and not version.value.startswith(_VERSION):
        version.fault(f"apiVersion {version.value} is too old: v3.0.0 to v3.2.0 are read", EXAMPLES["apiVersion"])
    landing, table = _landing(root), _the_table(root)
    name = _table_name(table) if table else None
    files = file_settings(landing) if landing else None
    plan = plan_of(table, name or "", root, files) if table else None
    location = landing.get("location") if landing else None
    route = _route(name or "", location) if location else None
    days = whole_number(table, "branchDays", BRANCH_DAYS, limit=MOST_DAYS) if table else BRANCH_DAYS
    ingestion = ingestion_of(table) if table else Ingestion()
    notify = choices(table, "notify", Notice) if table else frozenset[Notice]()
    return _assemble(plan, route, days, ingestion, notify) if name and plan and route else None


def _assemble(plan: Plan, route: Route, days: int, ingestion: Ingestion, notify: frozenset[Notice]) -> Contract:
    return Contract(
        id=plan.contract_id,
        version=plan.contract_version,
        route=route,
        plan=plan,
        branch_days=days,
        ingestion=ingestion,
        notify=notify,
    )


def _landing(root: Item) -> Item | None:
    """Return the server named landing; note faults in its words or any other server's."""
    landing = []
    for server in root.entries("servers"):
        if server.plain("server") == "landing":
            landing.append(server)
            vocabulary.check_words(server, vocabulary.SERVER, vocabulary="a landing server")
        elif isinstance(kind := server.plain("type"), str):
            words = {word: vocabulary.Word(answer=vocabulary.Answer.DESCRIBES) for word in server_words(kind)}
            vocabulary.check_words(server, words, vocabulary=f"a server of type {kind}")
    if len(landing) != 1:
        if "servers" not in root.document.root or root.get("servers"):
            place = landing[1] if landing else root.get("servers") or root
            message = "exactly one server is named `landing`: it says which files are the table's"
            place.fault(message, "" if landing else LANDING)
        return None
    if (type_entry := landing[0].get("type")) and type_entry.value != "s3":
        type_entry.fault(
            f"the landing server's type is {type_entry.value!r}, and it can be 's3' only", EXAMPLES["type"]
        )
    return landing[0]


def _route(table: str, location: Item) -> Route | None:
    pattern = location.value.removeprefix(_LANDING)
    if pattern == location.value:
        location.fault(f"the landing server's location begins with {_LANDING}", EXAMPLES["location"])
        return None
    try:
        return Route(table=table, pattern=pattern)
    except Misconfigured as error:
        location.fault(str(error))
        return None


def _the_table(root: Item) -> Item | None:
    if root.has("schema") and root.get("schema") is None:
        return None
    tables = list(root.entries("schema"))
    if len(tables) == 1:
        return tables[0]
    count = len(root.plain("schema", []))
    if count != 1:
        (tables[1] if tables[1:] else root).fault(f"a contract is for one table, and `schema` has {count}")
    return None


def _table_name(table: Item) -> str | None:
    name_entry = table.get("physicalName") if table.has("physicalName") else table.get("name")
    if name_entry is None:
        return None
    if not _TABLE_NAME.fullmatch(name_entry.value):
        name_entry.fault(
            f"{name_entry.value!r} is no table: write physicalName: namespace.table, in lower case, such as "
            "nyc.flights",
            PHYSICAL_NAME,
        )
        return None
    if (length := len(name_entry.value)) > LONGEST_TABLE:
        name_entry.fault(
            f"the table's name has {length} characters, and it may have {LONGEST_TABLE}: job runs are called by it"
        )
        return None
    return str(name_entry.value)
