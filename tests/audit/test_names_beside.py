"""Names of quarantine and audits tables: no two tables ever have the same one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.names import distinct_name, namesakes, owner_of_name, plain_name

PARTS = st.from_regex(r"[ab][ab_1]{0,5}", fullmatch=True)
TABLES = st.builds("{}.{}".format, PARTS, PARTS)


def splits(text: str) -> list[str]:
    """All tables of this plain name, as far as a name may be one."""
    ends = (at for at, sign in enumerate(text) if sign == "_")
    pairs = [(text[:at], text[at + 1 :]) for at in ends]
    return [f"{one}.{other}" for one, other in pairs if one[:1].isalpha() and other[:1].isalpha()]


@given(TABLES, TABLES)
def test_a_distinct_name_is_no_other_tables_name_plain_or_distinct(one: str, other: str) -> None:
    assert distinct_name(one) not in (plain_name(one), plain_name(other))
    assert (distinct_name(one) == distinct_name(other)) is (one == other)
    assert quarantine_of(one, distinct=True).count(".") == audits_of(one, distinct=True).count(".") == 1


@given(TABLES)
def test_every_other_reading_of_a_plain_name_has_a_distinct_name(table: str) -> None:
    same = splits(plain_name(table))
    assert {table, *namesakes(table)} == set(same)
    assert {plain_name(each) for each in same} == {plain_name(table)}
    assert len({distinct_name(each) for each in same}) == len(set(same))


@given(TABLES, st.data())
def test_of_tables_with_one_plain_name_one_at_most_has_it_whoever_comes_first(table: str, data: st.DataObject) -> None:
    same = [table, *namesakes(table)]
    existing = data.draw(st.lists(st.sampled_from(same), unique=True))
    quarantining = data.draw(st.lists(st.sampled_from(existing), unique=True)) if existing else []
    owner = owner_of_name(table, existing, quarantining, is_in_use=data.draw(st.booleans()))
    assert owner in ("", *same)
    if len(existing) == 1:
        assert owner == existing[0]  # it keeps its own, whichever table asks
    if len(quarantining) == 1:
        assert owner == quarantining[0]
    assert len({quarantine_of(each, distinct=each != owner) for each in same}) == len(same)


def test_a_name_that_is_in_use_by_a_table_that_is_gone_is_for_none() -> None:
    nobody: Sequence[str] = ()
    assert owner_of_name("a_b.c", nobody, nobody, is_in_use=True) == ""
    assert owner_of_name("a_b.c", nobody, nobody, is_in_use=False) == "a_b.c"
    assert owner_of_name("a_b.c", ["a.b_c", "a_b.c"], ["a.b_c", "a_b.c"], is_in_use=True) == ""
