"""Rows and samples of a check: nobody is shown a value that the contract of today masks, or that of then."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakegate.cli.rows import list_rows
from lakegate.cli.show import show
from lakegate.landing.attempts import Attempt
from lakegate.operations.questions import ShowBatch
from lakegate.workflow.registry import contract_name
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.desk import Desk

TABLE = "shop.people"
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: people
name: people
version: 1.0.0
status: active
servers:
  - { server: landing, type: s3, location: "s3://landing/shop/people/**", format: parquet }
schema:
  - name: people
    physicalName: shop.people
    logicalType: object
    properties:
      - name: id
        logicalType: integer
        required: true
      - name: social_i
        logicalType: string
      - name: person
        logicalType: object
        properties:
          - name: born
            logicalType: string
"""
MASKED = CONTRACT.replace(
    "      - name: social_i", "      - name: social_i\n        classification: restricted"
).replace("          - name: born", "          - name: born\n            classification: confidential")
SECRET, NESTED, ANYONES = "078-05-1120", "1901-02-03", 4711
ATTEMPT = Attempt(table=TABLE, batch=BATCH, number=1)
SPELLINGS = ("social_i", "SOCIAL_I", "Social_İ", "\N{LATIN SMALL LETTER LONG S}oc\N{LATIN SMALL LETTER DOTLESS I}al_i")
"""Names that engines take for the first one."""

NOW = {"masks now": MASKED, "masks nothing now": CONTRACT, "gone": None, "does not load": "schema: ["}
THEN = {"masked then": MASKED, "masked nothing then": CONTRACT}


@pytest.mark.parametrize("now", NOW)
@pytest.mark.parametrize("then", THEN)
def test_rows_and_samples_of_a_check_meet_the_mask_of_today_and_of_then(
    desk: Desk, capsys: pytest.CaptureFixture[str], then: str, now: str
) -> None:
    failing = pa.table({"id": pa.array([None], pa.int64()), "social_i": [SECRET],
                        "person": pa.array([{"born": NESTED}], pa.struct([("born", pa.string())]))})  # fmt: skip
    add_batch(desk, THEN[then], {"shop/people/1.parquet": failing})
    if (contract := NOW[now]) is not None:
        desk.world.store.write(contract_name(TABLE), contract.encode())
    view = desk.operations.run(ShowBatch(batch=BATCH))
    listed = list_rows(desk.installation, view, "id required")
    hidden = then == "masked then" or now == "masks now"
    assert (SECRET in repr(listed.answer)) == (NESTED in repr(listed.answer)) == (not hidden and now != "does not load")
    show(desk.installation, BATCH, every_check=True, as_json=True)
    assert (SECRET in capsys.readouterr().out) == (not hidden)
