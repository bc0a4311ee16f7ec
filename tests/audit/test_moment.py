"""Tests of what a plan says of now, said of one moment: by predicates and by proofs, and nowhere else."""

from datetime import UTC, datetime

import pytest

from lakegate.audit.data_files.statistics import limit
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.model.plan import NOW, Metric, MetricKind, Proof
from tests.support.plans import plan

NOON = datetime(2013, 1, 31, 12, 0, 0, 250, tzinfo=UTC)
SAID = "TIMESTAMP '2013-01-31T12:00:00.000250+00:00'"


def metric(sql: str, proof: Proof | None = None) -> Metric:
    return Metric(id="m", kind=MetricKind.FAILING, columns=("x",), sql=sql, passes=sql, proof=proof)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("`x` > CURRENT_TIMESTAMP()", f"`x` > {SAID}"),
        ("CAST(CURRENT_TIMESTAMP() AS DATE) < `x`", f"CAST({SAID} AS DATE) < `x`"),
        ("`CURRENT_TIMESTAMP()` = 'CURRENT_TIMESTAMP()'", "`CURRENT_TIMESTAMP()` = 'CURRENT_TIMESTAMP()'"),
        (r"`a``'b` = '\'`' OR `x` > CURRENT_TIMESTAMP()", rf"`a``'b` = '\'`' OR `x` > {SAID}"),
        (r"`x` = '\\' OR CURRENT_TIMESTAMP() > 'a' 'CURRENT_TIMESTAMP()'", None),
    ],
)
def test_now_is_said_anew_and_no_text_or_name_is(sql: str, expected: str | None) -> None:
    [found] = bind_now(plan("a.b", {"x": "timestamp"}, [metric(sql)]), NOON).metrics
    wanted = expected or rf"`x` = '\\' OR {SAID} > 'a' 'CURRENT_TIMESTAMP()'"
    assert (found.id, found.sql, found.passes) == ("m", wanted, wanted)


def test_a_proof_of_now_is_one_of_the_same_moment() -> None:
    late = metric("`x` > CURRENT_TIMESTAMP()", Proof(column="x", maximum=NOW))
    text = metric("NOT `x` IN ('now')", Proof(column="x", values=(NOW,)))
    found = [each.proof for each in bind_now(plan("a.b", {"x": "timestamp"}, [late, text]), NOON).metrics]
    assert found == [Proof(column="x", maximum=NOON.isoformat()), text.proof]


def test_the_moment_is_a_limit_of_dates_and_of_timestamps() -> None:
    said = NOON.isoformat()
    assert limit("date", said) == limit("date", "2013-01-31")
    assert limit("timestamp", said) == limit("timestamptz", said) == limit("timestamp", "2013-01-31T12:00:00.000250")
