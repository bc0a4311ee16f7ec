"""`clean`: what lies in the lake and nothing needs, and why the rest is kept.

It decides nothing itself.
"""

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.filesize import decimal

from lakegate.cli import terminal
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, say, say_json
from lakegate.counts import count
from lakegate.workflow.cleaning.candidates import Amount
from lakegate.workflow.cleaning.clean import Cleaned

COLUMNS = ("folder", "unneeded", "kept")


def clean(installation: Installation, days: int, named: Sequence[str], *, delete: bool, as_json: bool) -> Exit:
    with busy("reading all tables' metadata, and listing their folders"):
        cleaned = installation.clean(days=days, delete=delete, named=named)
    if as_json:
        say_json({**_plain(cleaned), "deleted": delete})
        return Exit.DONE
    say(_folders(cleaned), *_unknown(cleaned.unknown), *_next(cleaned, deleted=delete))
    return Exit.DONE


def _plain(cleaned: Cleaned) -> dict[str, object]:
    folders = [
        {
            "folder": each.folder,
            "unneeded": each.unneeded._asdict(),
            "kept": {why: amount._asdict() for why, amount in each.kept.items()},
            "next_run": each.next_run,
        }
        for each in cleaned.folders
    ]
    unknown = {folder: amount._asdict() for folder, amount in cleaned.unknown.items()}
    return {"since": cleaned.since, "folders": folders, "unknown": unknown}


def _folders(cleaned: Cleaned) -> RenderableType:
    made = terminal.table(*COLUMNS, title=f"Folders of tables ({len(cleaned.folders):,})")
    for each in cleaned.folders:
        made.add_row(
            terminal.clean(each.folder),
            _said(each.unneeded),
            "\n".join(f"{why}: {_said(amount)}" for why, amount in each.kept.items()),
        )
    return made


def _said(amount: Amount) -> str:
    return f"{count(amount.files, 'file')}, {decimal(amount.size)}" if amount.files else "·"


def _unknown(unknown: Mapping[str, Amount]) -> list[RenderableType]:
    """Return the folders that the catalog does not know, with what a person may do about them."""
    if not unknown:
        return []
    made = terminal.table("folder", "files", title=f"Folders that the catalog does not know ({len(unknown):,})")
    for folder, amount in unknown.items():
        made.add_row(terminal.clean(folder), _said(amount))
    return [made, "They are left alone. If nothing uses one, run: lakegate clean --folder FOLDER"]


def _next(cleaned: Cleaned, *, deleted: bool) -> list[str]:
    total = _said(Amount(*map(sum, zip(Amount(), *(each.unneeded for each in cleaned.folders), strict=True))))
    later = min((each.next_run for each in cleaned.folders if each.next_run), default=None)
    waits = [f"Some files wait for another run, from {later:%Y-%m-%d %H:%M} UTC on: lakegate clean"] if later else []
    if total == _said(Amount()):
        return ["Nothing is unneeded by two runs a week apart, so nothing is deleted.", *waits]
    done = f"Deleted: {total}. The bucket keeps them for 30 days." if deleted else f"Unneeded: {total}."
    return [done, *([] if deleted else ["Nothing was deleted. To delete them, run: lakegate clean --delete"]), *waits]
