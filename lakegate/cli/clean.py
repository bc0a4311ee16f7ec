"""`clean`: files in the lake that nothing needs, and why the rest is kept.

It decides nothing itself.
"""

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.filesize import decimal

from lakegate.cli import terminal
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, print_lines, say_json
from lakegate.counts import count
from lakegate.workflow.cleaning.candidates import Amount
from lakegate.workflow.cleaning.clean import CleaningResult

COLUMNS = ("folder", "unneeded", "kept")


def clean(installation: Installation, days: int, names: Sequence[str], *, delete: bool, as_json: bool) -> Exit:
    with busy("reading all tables' metadata, and listing their folders"):
        result = installation.clean(days=days, delete=delete, names=names)
    if as_json:
        say_json({**_plain(result), "deleted": delete})
        return Exit.SUCCESS
    print_lines(_folders(result), *_unknown(result.unknown), *_next(result, is_done=delete))
    return Exit.SUCCESS


def _plain(result: CleaningResult) -> dict[str, object]:
    folders = [
        {
            "folder": folder.folder,
            "unneeded": folder.amount_to_delete._asdict(),
            "kept": {reason: amount._asdict() for reason, amount in folder.amounts.items()},
            "next_run": folder.next_run,
        }
        for folder in result.folders
    ]
    unknown = {folder: amount._asdict() for folder, amount in result.unknown.items()}
    return {"since": result.history_start, "folders": folders, "unknown": unknown}


def _folders(result: CleaningResult) -> RenderableType:
    grid = terminal.table(*COLUMNS, title=f"Folders of tables ({len(result.folders):,})")
    for folder in result.folders:
        grid.add_row(
            terminal.clean(folder.folder),
            _amount_text(folder.amount_to_delete),
            "\n".join(f"{reason}: {_amount_text(amount)}" for reason, amount in folder.amounts.items()),
        )
    return grid


def _amount_text(amount: Amount) -> str:
    return f"{count(amount.files, 'file')}, {decimal(amount.size)}" if amount.files else "·"


def _unknown(unknown: Mapping[str, Amount]) -> list[RenderableType]:
    """Return the folders that the catalog does not know, with what a person may do about them."""
    if not unknown:
        return []
    grid = terminal.table("folder", "files", title=f"Folders that the catalog does not know ({len(unknown):,})")
    for folder, amount in unknown.items():
        grid.add_row(terminal.clean(folder), _amount_text(amount))
    return [grid, "They are left alone. If nothing uses one, run: lakegate clean --folder FOLDER"]


def _next(result: CleaningResult, *, is_done: bool) -> list[str]:
    total = _amount_text(
        Amount(*map(sum, zip(Amount(), *(folder.amount_to_delete for folder in result.folders), strict=True)))
    )
    next_run = min((folder.next_run for folder in result.folders if folder.next_run), default=None)
    waits = (
        [f"Some files wait for another run, from {next_run:%Y-%m-%d %H:%M} UTC on: lakegate clean"] if next_run else []
    )
    if total == _amount_text(Amount()):
        return ["Nothing is unneeded by two runs a week apart, so nothing is deleted.", *waits]
    verdict = f"Deleted: {total}. The bucket keeps them for 30 days." if is_done else f"Unneeded: {total}."
    return [
        verdict,
        *([] if is_done else ["Nothing was deleted. To delete them, run: lakegate clean --delete"]),
        *waits,
    ]
