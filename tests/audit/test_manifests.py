"""The difference of two states of a table, by manifests that are values here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from lakegate.audit.data_files.manifests import FileDifference, by_path, compare, data_files, has_deletes, only_in_one
from lakegate.audit.errors import ListedTwice


@dataclass(frozen=True, kw_only=True)
class Listed:
    path: str
    files: tuple[str, ...] = ()
    holds_deletes: bool = False
    is_live: bool = True
    oldest: int = 1


@dataclass(frozen=True)
class Table:
    """A table whose data files say what their manifest's path is. `opened` are the manifests that were read."""

    listed: tuple[Listed, ...] = ()
    table: str = "nyc.flights"
    opened: list[str] = field(default_factory=list)

    def manifests(self) -> Iterable[Listed]:
        return self.listed

    def data_files(self, manifests: Sequence[Listed]) -> Iterator[tuple[str, str]]:
        for manifest in manifests:
            self.opened.append(manifest.path)
            yield from ((file, manifest.path) for file in manifest.files)

    def delete_files(self, manifests: Sequence[Listed]) -> Iterator[tuple[str, int]]:
        for manifest in manifests:
            self.opened.append(manifest.path)
            yield from ((file, manifest.oldest) for file in manifest.files)


def data(path: str, *files: str, oldest: int = 1, is_live: bool = True) -> Listed:
    return Listed(path=path, files=files, oldest=oldest, is_live=is_live)


def deletes(path: str, *files: str, sequence: int, is_live: bool = True) -> Listed:
    return Listed(path=path, files=files, oldest=sequence, holds_deletes=True, is_live=is_live)


def difference(before: Sequence[Listed], after: Sequence[Listed]) -> FileDifference[str]:
    return compare(Table(tuple(before)), Table(tuple(after)))


OLD = data("m1", "a", "b")


def test_data_files_of_new_manifests_are_added_and_those_of_lost_ones_removed() -> None:
    found = difference([OLD, data("m2", "c")], [OLD, data("m3", "d")])
    assert found == FileDifference(new_files={"d": "m3"}, lost_files={"c": "m2"})


def test_a_table_is_compared_with_none() -> None:
    assert difference([], [OLD]) == FileDifference(new_files={"a": "m1", "b": "m1"})
    assert difference([OLD], []) == FileDifference(lost_files={"a": "m1", "b": "m1"})


def test_a_data_file_that_moved_to_another_manifest_neither_came_nor_went() -> None:
    assert difference([OLD], [data("m2", "a"), data("m3", "b")]) == FileDifference()


def test_manifests_that_both_states_list_are_not_opened() -> None:
    before, after = Table((OLD, deletes("d1", "x", sequence=2))), Table((OLD, deletes("d1", "x", sequence=2)))
    assert compare(before, after) == FileDifference()
    assert before.opened + after.opened == []


def test_manifests_that_only_tell_of_removed_files_are_not_opened() -> None:
    after = Table((data("m2", "gone", is_live=False), deletes("d2", "gone", sequence=2, is_live=False)))
    assert compare(Table(), after) == FileDifference()
    assert after.opened == []


def test_a_delete_file_that_came_may_hide_rows_however_old_it_is() -> None:
    after = [data("m1", "a", oldest=5), deletes("d1", "x", sequence=1)]
    assert difference([data("m1", "a", oldest=5)], after).deletes == {"x"}


@pytest.mark.parametrize(("sequence", "hid"), [(3, {"x"}), (2, {"x"}), (1, set())])
def test_a_removed_delete_file_may_have_hidden_rows_unless_all_data_files_are_younger(
    sequence: int, hid: set[str]
) -> None:
    rest = [data("m1", "a", oldest=2), data("m2", "b", oldest=4)]
    assert difference([*rest, deletes("d1", "x", sequence=sequence)], rest).deletes == hid


def test_what_counts_is_the_age_of_the_data_files_that_are_left() -> None:
    """A manifest that only tells of removed ones, and one of delete files, say nothing of them."""
    rest = [data("m1", "a", oldest=4), data("m2", oldest=1, is_live=False), deletes("d2", "y", sequence=1)]
    assert difference([*rest, deletes("d1", "x", sequence=2)], rest).deletes == set()


def test_a_delete_file_that_went_with_all_data_files_hid_none_that_are_left() -> None:
    assert difference([OLD, deletes("d1", "x", sequence=2)], []).deletes == set()


def test_a_delete_file_that_moved_to_another_manifest_neither_came_nor_went() -> None:
    found = difference([OLD, deletes("d1", "x", sequence=2)], [OLD, deletes("d2", "x", sequence=2)])
    assert found == FileDifference()


def test_a_manifest_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(ListedTwice, match=r"nyc\.flights lists the manifest m1 twice"):
        difference([OLD], [OLD, OLD])
    with pytest.raises(ListedTwice, match="m1"):
        by_path(Table((OLD, OLD)))


def test_a_data_file_in_two_manifests_is_refused_and_in_two_states_it_is_not() -> None:
    twice = Table((data("m1", "a"), data("m2", "a")))
    with pytest.raises(ListedTwice, match=r"nyc\.flights has the data file a twice"):
        data_files(twice, by_path(twice))
    assert only_in_one(Table((data("m1", "a"),)), Table((data("m2", "a"),))) == (
        {"m1": data("m1", "a")},
        {"m2": data("m2", "a")},
    )


def test_a_table_has_deletes_while_a_delete_file_is_live() -> None:
    assert has_deletes(Table((OLD, deletes("d1", "x", sequence=2))))
    assert not has_deletes(Table((OLD, deletes("d1", sequence=2, is_live=False))))
