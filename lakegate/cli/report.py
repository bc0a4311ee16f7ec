"""Words beside a report: the effect of enforcing, the cost of a job, and its lane. It draws nothing."""

from lakegate.counts import count
from lakegate.operations.batch import Try
from lakegate.ports import Record, Usage


def enforced_text(record: Record) -> str:
    """Return what enforcing would have done to the files that a decision published; "" if it is the same."""
    return would_have(
        sum(file.would_reject for file in record.files), sum(file.would_quarantine for file in record.files)
    )


def decision_words(record: Record) -> list[str]:
    """Return how many rows a decision published in place of how many, what enforcing would have done, and by whom."""
    rows = count(sum(file.rows for file in record.files), "row")
    in_place = f" in place of {count(record.replaced_rows, 'row')}" if record.replaced_rows else ""
    words = [count(len(record.files) + record.rest, "file"), rows + in_place, enforced_text(record)]
    words += ["in spite of the audit"] if record.overrules else []
    return list(filter(None, [*words, record.reason, f"by {record.by}" if record.by else ""]))


def would_have(files: int, rows: int, prefix: str = "") -> str:
    """Return what enforcing would have done to so many files and rows of `prefix`; "" if nothing."""
    rejected = [f"{count(files, f'{prefix}file')} would have been rejected"] if files else []
    return ", ".join(rejected + ([f"{count(rows, f'{prefix}row')} would have gone to quarantine"] if rows else []))


def took(usage: Usage) -> str:
    """Return `job ran for 90 s, billed 0.100 vCPU-hours, 0.400 GB-hours`, and the disk's if there is any."""
    hours = f"{usage.vcpu_hours:,.3f} vCPU-hours, {usage.memory_gb_hours:,.3f} GB-hours"
    disk = f", {usage.storage_gb_hours:,.3f} GB-hours of disk" if usage.storage_gb_hours else ""
    return f"job ran for {usage.seconds:,} s, billed {hours}{disk}"


def lane(attempt: Try) -> str:
    """Return `on the express lane: …`, with the reason."""
    return f"on the {attempt.lane} lane" + (f": {attempt.lane_why}" if attempt.lane_why else "")
