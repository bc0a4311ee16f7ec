"""`clean`: what a person reads before and after files are deleted."""

from __future__ import annotations

from datetime import timedelta

from tests.cli.desk import Desk

DAY = 24 * 60 * 60


def discarded(desk: Desk) -> None:
    """A published file, a rejected one that was given up, and more than a month."""
    desk.published()
    batch = desk.rejected()
    assert desk.run("discard", batch, "--why", "broken").exit_code == 0
    desk.world.clock.advance(40 * DAY)


def test_a_first_run_says_what_is_kept_and_when_to_come_again(desk: Desk) -> None:
    discarded(desk)
    said = desk.run("clean", "--delete").stdout
    assert "main: " in said
    assert "waits for a run a week later: " in said
    assert "Nothing is unneeded by two runs a week apart, so nothing is deleted." in said
    assert f"another run, from {desk.world.clock.now() + timedelta(days=7):%Y-%m-%d %H:%M} UTC on" in said


def test_without_delete_the_files_stay_and_the_next_command_is_named(desk: Desk) -> None:
    discarded(desk)
    desk.run("clean")
    desk.world.clock.advance(7 * DAY)
    for _ in range(2):
        said = desk.run("clean").stdout
        assert "Unneeded: " in said
        assert "Nothing was deleted. To delete them, run: lakegate clean --delete" in said
    assert "Deleted: " in desk.run("clean", "--delete").stdout
    assert desk.json("clean")["folders"][0]["unneeded"] == {"files": 0, "size": 0}


def test_json_says_the_same(desk: Desk) -> None:
    discarded(desk)
    desk.run("clean")
    desk.world.clock.advance(7 * DAY)
    said = desk.json("clean", "--delete")
    [folder] = said["folders"]
    assert (said["deleted"], said["unknown"]) == (True, {})
    assert folder["unneeded"]["files"] > 0
    assert folder["kept"]["main"]["files"] > 0
    assert folder["next_run"] is None


def test_a_folder_that_no_table_has_cannot_be_named(desk: Desk) -> None:
    found = desk.run("clean", "--folder", "nyc")
    assert (found.exit_code, "nyc is no table's folder" in found.stderr) == (2, True)
