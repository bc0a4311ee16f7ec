"""One moment for a whole audit: a plan's "now" is fixed to it, so that a row that is ahead of it stays so for as long
as the job takes. It reads no clock.
"""

import re
from dataclasses import replace
from datetime import datetime

from lakegate.audit.model.plan import NOW, Metric, Plan

_NOW = "CURRENT_TIMESTAMP()"
_PIECES = re.compile(rf"'(?:[^'\\]|\\.)*'|`[^`]*`|{re.escape(_NOW)}", re.DOTALL)  # literals and names stay unchanged


def bind_now(plan: Plan, moment: datetime) -> Plan:
    """Return the plan evaluated at that moment; its metrics keep their ids."""
    return replace(plan, metrics=tuple(_metric(metric, moment) for metric in plan.metrics))


def _metric(metric: Metric, moment: datetime) -> Metric:
    sql, passes = _bind_moment(metric.sql, moment), _bind_moment(metric.passes, moment)
    if sql == metric.sql:
        return metric
    proof = metric.proof
    if proof and proof.maximum == NOW:
        proof = replace(proof, maximum=moment.isoformat())
    return replace(metric, sql=sql, passes=passes, proof=proof)


def _bind_moment(sql: str, moment: datetime) -> str:
    literal = f"TIMESTAMP '{moment.isoformat()}'"
    return _PIECES.sub(lambda piece: literal if piece[0] == _NOW else piece[0], sql)
