"""Access to the catalog: which role may do which operation on which reference and content key.

The rules are stated once. `may` answers by them, `nessie_settings` writes them as Nessie's settings, and the stack tags
its IAM roles with the names of the roles. A merge is no operation of its own: Nessie asks, on the target, for the right
to create or update each content that the merge brings, so rights by path decide who may merge what.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakegate.audit.evaluation.audits import NAMESPACE as AUDITS_NAMESPACE
from lakegate.landing.attempts import PREFIX
from lakegate.landing.receipts import NAMESPACE

TAG = "lakegate"
"""Name of the IAM role's tag that holds its `Role`."""
CLAIM = f'"https://sts.amazonaws.com/"/principal_tags/{TAG}'
"""Path, in a token of STS, of the caller's role."""


class Role(StrEnum):
    """A role of an identity in the catalog."""

    SPARK = "spark"
    INGEST = "ingest"
    PUBLISH = "publish"
    OBSERVER = "observer"
    READER = "reader"


class Operation(StrEnum):
    """An operation that Nessie checks; each is on a reference, and some are on a content key as well."""

    VIEW_REFERENCE = "VIEW_REFERENCE"
    READ_ENTRIES = "READ_ENTRIES"
    READ_CONTENT_KEY = "READ_CONTENT_KEY"
    READ_ENTITY_VALUE = "READ_ENTITY_VALUE"
    LIST_COMMIT_LOG = "LIST_COMMIT_LOG"
    READ_REPOSITORY_CONFIG = "READ_REPOSITORY_CONFIG"
    UPDATE_REPOSITORY_CONFIG = "UPDATE_REPOSITORY_CONFIG"
    CREATE_REFERENCE = "CREATE_REFERENCE"
    DELETE_REFERENCE = "DELETE_REFERENCE"
    ASSIGN_REFERENCE = "ASSIGN_REFERENCE_TO_HASH"
    COMMIT = "COMMIT_CHANGE_AGAINST_REFERENCE"
    CREATE_ENTITY = "CREATE_ENTITY"
    UPDATE_ENTITY = "UPDATE_ENTITY"
    DELETE_ENTITY = "DELETE_ENTITY"


READS = (
    Operation.VIEW_REFERENCE,
    Operation.READ_ENTRIES,
    Operation.READ_CONTENT_KEY,
    Operation.READ_ENTITY_VALUE,
    Operation.LIST_COMMIT_LOG,
    Operation.READ_REPOSITORY_CONFIG,
)
REFERENCES = (Operation.CREATE_REFERENCE, Operation.DELETE_REFERENCE)
WRITES = (Operation.CREATE_ENTITY, Operation.UPDATE_ENTITY, Operation.DELETE_ENTITY)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition on a reference's name or a key's path, in Nessie's expression language and in Python."""

    cel: str
    holds: Callable[[str], bool]


ANYWHERE = Condition(cel="", holds=lambda _: True)
MAIN = Condition(cel="ref == 'main'", holds=lambda ref: ref == "main")
BRANCHES = Condition(cel=f"ref.startsWith('{PREFIX}')", holds=lambda ref: ref.startswith(PREFIX))
MAIN_OR_BRANCHES = Condition(
    cel=f"({MAIN.cel} || {BRANCHES.cel})", holds=lambda ref: MAIN.holds(ref) or BRANCHES.holds(ref)
)


def _in_namespace(name: str) -> Condition:
    return Condition(
        cel=f"(path == '{name}' || path.startsWith('{name}.'))",
        holds=lambda path: path == name or path.startswith(f"{name}."),
    )


LEDGER = _in_namespace(NAMESPACE)
TABLES = Condition(cel=f"!{LEDGER.cel}", holds=lambda path: not LEDGER.holds(path))
AUDITS = _in_namespace(AUDITS_NAMESPACE)
PUBLIC = Condition(
    cel=f"(!path.startsWith('_') || {AUDITS.cel})",
    holds=lambda path: not path.startswith("_") or AUDITS.holds(path),
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A right that these roles have. Nothing is allowed that no rule allows."""

    name: str
    roles: tuple[Role, ...]
    operations: tuple[Operation, ...]
    refs: Condition = ANYWHERE
    paths: Condition = ANYWHERE

    def allows(self, role: Role, operation: Operation, ref: str, path: str) -> bool:
        return role in self.roles and operation in self.operations and self.refs.holds(ref) and self.paths.holds(path)

    def cel(self, names: "Names") -> str:
        """Return the rule in Nessie's expression language. `names` are those by which tokens say each role."""
        operations = ", ".join(f"'{operation}'" for operation in self.operations)
        roles = " || ".join(f"'{name}' in roles" for role in self.roles for name in names[role])
        parts = [f"op in [{operations}]", f"({roles})", self.refs.cel, self.paths.cel]
        return " && ".join(part for part in parts if part)


Names = Mapping[Role, Iterable[str]]
BY_TAG: Names = {role: (role,) for role in Role}
"""Names of the roles in tokens of STS, which hold the tag's value."""
WORKERS = (Role.SPARK, Role.INGEST, Role.PUBLISH)
OPENERS = (Role.INGEST, Role.PUBLISH)
RULES = (
    Rule(name="read-all", roles=(*WORKERS, Role.OBSERVER), operations=READS),
    Rule(name="read-main", roles=(Role.READER,), operations=READS, refs=MAIN, paths=PUBLIC),
    Rule(name="append-commit", roles=(Role.SPARK,), operations=(Operation.COMMIT,), refs=BRANCHES),
    Rule(name="append", roles=(Role.SPARK,), operations=WRITES, refs=BRANCHES, paths=TABLES),
    Rule(name="branches", roles=OPENERS, operations=REFERENCES, refs=BRANCHES),
    Rule(name="commit", roles=OPENERS, operations=(Operation.COMMIT,), refs=MAIN_OR_BRANCHES),
    Rule(name="claim", roles=OPENERS, operations=WRITES, refs=BRANCHES),
    Rule(name="decide", roles=OPENERS, operations=WRITES, refs=MAIN, paths=LEDGER),
    Rule(name="publish", roles=(Role.PUBLISH,), operations=WRITES, refs=MAIN, paths=TABLES),
)


def may(role: Role, operation: Operation, ref: str, path: str = "", rules: Iterable[Rule] = RULES) -> bool:
    """Return True if the role may do the operation on the reference, and on the content key at `path` (dotted)."""
    return any(rule.allows(role, operation, ref, path) for rule in rules)


def nessie_settings(issuer: str, audience: str, claim: str = "", names: Names = BY_TAG) -> dict[str, str]:
    """Return the settings by which Nessie knows the roles and keeps the rules, by name. `issuer` is the address of the
    account's STS issuer, and `audience` the one that tokens must have, "" for any. With a `claim`, another issuer's
    tokens have a client's id there, and `names` are the ids of each role's clients.
    """
    return {
        "nessie.server.authentication.enabled": "true",
        "quarkus.oidc.auth-server-url": issuer,
        "quarkus.oidc.client-id": "nessie",
        **({"quarkus.oidc.token.audience": audience} if audience else {}),
        "quarkus.oidc.roles.role-claim-path": claim or CLAIM,
        **({"quarkus.oidc.token.principal-claim": claim} if claim else {}),  # the committer in main's log
        "nessie.server.authorization.enabled": "true",
        **{f"nessie.server.authorization.rules.{rule.name}": rule.cel(names) for rule in RULES if _has(rule, names)},
    }


def _has(rule: Rule, names: Names) -> bool:
    """Return True if anybody has one of the rule's roles: with no role, a rule would allow everybody."""
    return any(tuple(names[role]) for role in rule.roles)
