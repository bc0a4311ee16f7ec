"""Undecided files: the versions in the landing bucket without a decision, found by listing and never from events.

Only files that landed since the watermark are looked at, because all earlier ones are decided or unrouted.
"""

from collections.abc import Iterable, Mapping

from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.ledger.receipts import with_closed
from lakegate.workflow.service import Service


def undecided_files(
    service: Service, versions: Iterable[FileVersion] | None = None
) -> tuple[list[FileVersion], Mapping[str, Receipt]]:
    """Return the landed versions without a decision, unrouted and claimed ones too, oldest first; and main's receipts
    by key. `versions` are those to look at; all, if None.

    The archive has no receipt of a version that landed since the watermark. It is not asked, because most keys of a
    backlog have no receipt at all.
    """
    head, mark = service.branches.head(MAIN) or "", service.ledger.watermark()  # in this order: the head is no newer
    versions = service.landing.versions() if versions is None else versions
    candidates = [file for file in versions if (mark is None or file.landed_at >= mark) and not file.is_marker]
    on_main = service.ledger.receipts(Ref(MAIN, head), {file.key for file in candidates})
    receipts = with_closed(service, on_main, candidates)
    rest = [file for file in candidates if entry_of(receipts, file) is None]
    return sorted(rest, key=lambda file: file.order), receipts
