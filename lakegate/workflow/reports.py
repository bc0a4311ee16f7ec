"""The attempts' reports, where jobs leave them. It judges nothing by them."""

from lakegate.audit.report import Report
from lakegate.audit.wire import NewerFormat, from_json
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import Store


def report_name(attempt: Attempt) -> str:
    return f"reports/{attempt.branch}.json"


def read_report(store: Store, attempt: Attempt) -> Report | None:
    """The attempt's report, or None where there is none yet. Raises Refused where it can't be read, and Misconfigured
    where a newer release wrote it: then its files wait, undecided, until this one is updated.
    """
    body = store.read(report_name(attempt))
    try:
        return None if body is None else from_json(Report, body)
    except NewerFormat as error:
        raise Misconfigured(f"{report_name(attempt)}: {error}. Nothing is decided until then") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(f"the report {report_name(attempt)} can't be read: {error!r}") from error
