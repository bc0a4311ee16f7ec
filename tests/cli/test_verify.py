"""`verify`: what a person reads after a restore."""

from __future__ import annotations

from tests.cli.desk import Desk


def test_each_line_says_what_is_well(desk: Desk) -> None:
    desk.published()
    found = desk.run("verify")
    assert found.exit_code == 0
    assert "✓ receipts: all rows of 1 published file are on main, each once" in found.stdout


def test_a_line_that_is_wrong_says_what_to_do_and_is_an_exit_code(desk: Desk) -> None:
    desk.published()
    world = desk.world
    world.lake.files.deletions |= {uri for uri in world.lake.files.write_times() if "/data/" in uri}
    found = desk.run("verify")
    assert found.exit_code == 1
    assert "✗ main: " in found.stdout
    assert "→ bring it back from the bucket's earlier versions (docs/how-to/restoring.md)" in found.stdout
    assert {each["verdict"] for each in desk.json("verify")} == {"ok", "wrong"}
