"""Policies for readers of the lake: for contracts' tables, for quarantine and for audits. A role may have all."""

from collections.abc import Sequence
from string import ascii_lowercase

from aws_cdk import aws_iam
from constructs import Construct

from infra.data.storage import Storage
from infra.keys import DECRYPT
from infra.waivers import waive_below
from lakegate.settings import WAREHOUSE

# A table is stored in `<namespace>/<table>_<uuid>`. Contracts' namespaces begin with a letter, lakegate's own with `_`.
# So no policy needs a denial, which would override the other policy.
TABLES = tuple(f"{WAREHOUSE}/{letter}*" for letter in ascii_lowercase)
QUARANTINE = (f"{WAREHOUSE}/_quarantine/*",)
AUDITS = (f"{WAREHOUSE}/_audits/*",)


class Readers(Construct):
    """Policies to attach to a reader's role. The stack itself attaches them to none."""

    def __init__(self, scope: Construct, construct_id: str, *, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        self._storage = storage
        self.read_lake = self._policy("ReadLake", "Read the tables of contracts, but not quarantine", TABLES)
        self.read_quarantine = self._policy("ReadQuarantine", "Read rows that were put in quarantine", QUARANTINE)
        self.read_audits = self._policy("ReadAudits", "Read what audits have found", AUDITS)

    def _policy(self, construct_id: str, description: str, patterns: Sequence[str]) -> aws_iam.ManagedPolicy:
        lake = self._storage.lake
        files = [lake.arn_for_objects(pattern) for pattern in patterns]
        read = aws_iam.PolicyStatement(actions=["s3:GetObject"], resources=files)
        policy = aws_iam.ManagedPolicy(
            self, construct_id, description=description, statements=[read, *self._storage.unlock(DECRYPT, lake)]
        )
        for pattern in patterns:
            reason = "Names of tables and of their files are made at run time, and only reading is allowed."
            waive_below(policy, resource=lake, suffix=f"/{pattern}", reason=reason)
        return policy
