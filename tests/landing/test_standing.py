"""Standings: what a key's other versions decide of one, and that they do so too once a long receipt was truncated."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import IDENTICAL, standing_of, truncate

NOON = datetime(2013, 1, 31, 12, 0, tzinfo=UTC)
TABLES = ("nyc.flights", "nyc.planes")
Upload = tuple[int, str, Reuploads, str, bool]  # minutes after noon, bytes, what the contract says, table, is it good


def file(number: int, minute: int, body: str) -> FileVersion:
    at = NOON + timedelta(minutes=minute)
    return FileVersion(bucket="landing", key="latest", version_id=f"v{number}", size=1, landed_at=at, checksum=body)


def after(receipt: Receipt, number: int, upload: Upload) -> Receipt:
    """With one more version, decided as a worker would."""
    minute, body, reuploads, table, is_good = upload
    its = standing_of(receipt, found := file(number, minute, body), table, reuploads)
    decision = its.decision or (Decision.PUBLISHED if is_good else Decision.REJECTED)
    attempt = Attempt(table=table, batch=f"b{number}", number=1)
    return receipt.with_decision(Entry.of(found, decision, attempt, [its.reason] if its.reason else [], its.replaces))


uploads = st.lists(
    st.tuples(
        st.integers(0, 9), st.sampled_from("abc"), st.sampled_from(Reuploads), st.sampled_from(TABLES), st.booleans()
    ),
    max_size=12,
)


@given(uploads, st.integers(0, 9), uploads)
def test_a_shortened_receipt_decides_all_as_the_whole_one_would(
    history: list[Upload], minute: int, more: list[Upload]
) -> None:
    whole = Receipt(bucket="landing", key="latest")
    for number, upload in enumerate(history):
        whole = after(whole, number, upload)
    short, closed = truncate(whole, before := NOON + timedelta(minutes=minute))
    assert {*short.entries, *closed} == {*whole.entries}
    assert all(entry.landed_at < before and entry.decision is not Decision.REJECTED for entry in closed)
    for number, upload in enumerate(more, start=len(history)):
        whole, short = after(whole, number, upload), after(short, number, upload)
        assert (short.on_main, short.entries[-1]) == (whole.on_main, whole.entries[-1])
    for asked in (file(number, minute, body) for number in (0, 5, 99) for minute in range(10) for body in "abcd"):
        for table in TABLES:
            for reuploads in Reuploads:
                assert standing_of(short, asked, table, reuploads) == standing_of(whole, asked, table, reuploads)


def test_of_a_key_that_never_rests_what_is_on_main_is_left_and_what_is_young() -> None:
    receipt = Receipt(bucket="landing", key="latest")
    for number in range(100):
        receipt = after(receipt, number, (number, f"bytes {number}", Reuploads.REPLACE, TABLES[0], True))
    short, closed = truncate(receipt, NOON + timedelta(minutes=97))
    assert [entry.version_id for entry in short.entries] == ["v97", "v98", "v99"]
    assert len(closed) == 97
    short, _ = truncate(receipt, NOON + timedelta(days=1))
    assert [entry.version_id for entry in short.entries] == ["v99"]


def test_a_version_that_was_taken_out_may_be_lacking_and_no_other() -> None:
    receipt = Receipt(bucket="landing", key="latest")
    for number in range(3):
        receipt = after(receipt, number, (number, f"bytes {number}", Reuploads.REPLACE, TABLES[0], True))
    short, closed = truncate(receipt, NOON + timedelta(minutes=2))
    assert [short.may_lack(file(number, number, "x")) for number in range(4)] == [True, True, False, False]
    found = replace(short, archive=closed)
    assert [found.may_lack(file(number, number, "x")) for number in range(4)] == [False] * 4
    assert "closed" not in found.to_json()
    assert Receipt.from_json(found.to_json()) == short


def test_the_reason_for_repeated_bytes_is_worded_as_in_stored_receipts() -> None:
    """A receipt tells by it that a discarded version repeats what is on main."""
    assert IDENTICAL == "the same bytes are already published under this key"
