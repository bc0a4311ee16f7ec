"""The message for data that does not fit its contract, for whoever holds it: faults, and what to write next."""

from collections.abc import Iterator, Mapping, Sequence

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.wap.data import Input
from lakegate.wap.mending import lines
from lakegate.wap.report import steps

_NAMES = {"pandas": "Pandas", "polars": "Polars"}


def refusal(plan: Plan, inspections: Sequence[Inspection], inputs: Mapping[str, Input]) -> str:
    """Return the message for the faults of these files, of which the data is `inputs` by id."""
    faulty = [inspection for inspection in inspections if inspection.faults]
    return "\n".join(
        [
            f"{plan.table}: nothing is appended",
            *(line for inspection in faulty for line in _faults(plan, inspection, inputs[inspection.id])),
        ]
    )


def _faults(plan: Plan, inspection: Inspection, data: Input) -> Iterator[str]:
    yield f"{inspection.file.key} does not fit the contract:"
    yield from (f"  {fault}" for fault in inspection.faults)
    mends = lines(data.package, data.frame, plan) if data.frame is not None else []
    if mends:
        yield f"In {_NAMES[data.package]}:"
        yield from (f"  {line}" for line in mends)
    ways = [step for fault in inspection.faults for step in steps(fault.advice)]
    yield from (_step(*step) for step in dict.fromkeys(ways) if step[1] or not mends)


def _step(sentence: str, code: str) -> str:
    head = f"{sentence[:1].upper()}{sentence[1:]}{':' if code else '.'}"
    return "\n".join([head, *(f"  {line}" for line in code.splitlines())])
