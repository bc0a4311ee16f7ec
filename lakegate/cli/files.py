"""`drop` and `wait`: files to the landing bucket, and their outcome. It judges no file."""

import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.ends import ENDS, NOTHING_TO_DO, RANKS
from lakegate.cli.exits import Exit
from lakegate.cli.follow import Tracker, follow
from lakegate.cli.installation import Installation
from lakegate.cli.progress import progress
from lakegate.cli.terminal import busy, clean, indent, print_lines, say_json
from lakegate.counts import count
from lakegate.errors import Misconfigured, Retryable
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision, State
from lakegate.landing.routes import Route
from lakegate.operations.operation import Operations
from lakegate.operations.questions import FindVersions, ListRoutes, ListUnclaimed
from lakegate.operations.sights import ALREADY_PUBLISHED, Sight
from lakegate.ports import Landing

LONGEST_KEY = 1024  # bytes, S3's limit
UPLOADS = 4  # concurrent
MOST_NAMES = 12  # published files that are listed by name
REASONS = 3  # of a file; lakegate show has all


def drop(
    installation: Installation, paths: Sequence[Path], table: str | None, to: str | None, *, wait: bool, as_json: bool
) -> Exit:
    """Upload the files, and with `wait` follow each to its end."""
    keys = keys_of(installation.operations, paths, table, to)
    with busy(f"uploading {count(len(paths), 'file')}"):
        files = upload(installation.landing, paths, keys)
    tracker = Tracker.of((file.key, file.version_id) for file in files)
    if wait:
        return watch(installation, tracker, None, as_json=as_json)
    if as_json:
        say_json({"files": list(tracker.sights.values())})
    else:
        print_lines(*(f"landed  {key}" for key in keys), "Next: lakegate wait   (or: lakegate status)")
    return Exit.SUCCESS


def keys_of(operations: Operations, paths: Sequence[Path], table: str | None, to: str | None) -> list[str]:
    """Return the landing key of each path. Raise Misconfigured, before any upload, if a path has no valid key."""
    if table and to is not None:
        raise Misconfigured("--table and --to exclude each other; give one of them")
    if to is not None:
        keys = [_prefix(to) + path.name for path in paths]
    elif table:
        [route] = operations.run(ListRoutes(table=table))
        keys = [_key_for(route, path) for path in paths]
    else:
        routes = operations.run(ListRoutes())
        keys = [_route_key(routes, path) for path in paths]
    for key in keys:
        _refuse_unusable(key)
    repeated_keys = sorted({key for key in keys if keys.count(key) > 1})
    if repeated_keys:
        raise Misconfigured(
            f"several of these files would get the key {', '.join(repeated_keys)}; drop them one after another"
        )
    return keys


def _prefix(to: str) -> str:
    """Return the folder as a key's prefix. Raise Misconfigured for a part that S3 would keep and no route matches."""
    folder = to.removesuffix("/")
    if folder and any(part in {"", ".", ".."} for part in folder.split("/")):
        raise Misconfigured(f"--to {to}: give a folder without the bucket, such as nyc/flights/")
    return f"{folder}/" if folder else ""


def _route_key(routes: Sequence[Route], path: Path) -> str:
    name, command = path.name, _drop_command(path)
    matches = [route for route in routes if route.matches(route.prefix + name)]
    if len(matches) == 1:
        return _key_for(matches[0], path)
    tables = ", ".join(sorted(route.table for route in matches))
    if tables:
        raise Misconfigured(f"{name} could be for {tables}; say which: {command} --table TABLE")
    raise Misconfigured(
        f"no contract's route takes a file named {name}; push one (lakegate contract push CONTRACT), "
        f"or say where it goes: {command} --to PREFIX\n"
        f"To make a contract from the file, run: lakegate contract init {shlex.quote(str(path))} --output CONTRACT"
    )


def _key_for(route: Route, path: Path) -> str:
    key = route.prefix + path.name
    if not route.matches(key):
        raise Misconfigured(
            f"{key} does not match the route {route.pattern} of {route.table}; "
            f"rename the file, or say where it goes: {_drop_command(path)} --to PREFIX"
        )
    return key


def _drop_command(path: Path) -> str:
    return f"lakegate drop {shlex.quote(str(path))}"


def _refuse_unusable(key: str) -> None:
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise Misconfigured(f"{clean(key)}: a landing key must be UTF-8; rename the file") from error
    if size > LONGEST_KEY:
        raise Misconfigured(f"{key}: a landing key has at most {LONGEST_KEY} bytes, this one has {size}")


def upload(landing: Landing, paths: Sequence[Path], keys: Sequence[str]) -> list[FileVersion]:
    """Upload several files at once. Raise the first failure after all started uploads have ended."""
    with ThreadPoolExecutor(UPLOADS) as pool:
        return list(pool.map(landing.upload, paths, keys))


def wait(installation: Installation, targets: Sequence[str], timeout: float | None, *, as_json: bool) -> Exit:
    """Follow batches, keys, or everything in flight."""
    if not targets:
        with busy("looking"):  # once: listing a large bucket takes minutes
            versions = installation.operations.run(ListUnclaimed())
        return watch(installation, Tracker.of(versions, all_moving=True), timeout, as_json=as_json)
    with busy("looking"):
        pairs = installation.operations.run(FindVersions(targets=tuple(targets)))
    return watch(installation, Tracker.of(pairs), timeout, as_json=as_json)


def watch(installation: Installation, tracker: Tracker, timeout: float | None, *, as_json: bool) -> Exit:
    """Follow with live progress, then print the outcome of each."""
    with progress() as show:
        is_finished = follow(installation, tracker, timeout, show)
    if as_json:
        say_json({"files": list(tracker.sights.values())})
    else:
        print_lines(*outcome(list(tracker.sights.values())))
    if not is_finished:
        raise Retryable(_still_moving(tracker, timeout))
    return Exit.REJECTED if tracker.has_failed else Exit.SUCCESS


def _still_moving(tracker: Tracker, timeout: float | None) -> str:
    in_flight = tracker.pending
    names = [
        f"{sight.file} ({': '.join(filter(None, (sight.state, sight.waits)))})" for sight in in_flight[:MOST_NAMES]
    ]
    rest = [f"{len(in_flight) - MOST_NAMES:,} more"] if len(in_flight) > MOST_NAMES else []
    batches = sorted({sight.batch for sight in in_flight})
    arguments = (
        " ".join(batches) if len(batches) <= MOST_NAMES and "" not in batches else ""
    )  # without arguments if a file has no batch yet, which waits for all
    summary = ", ".join([*names, *rest]) or "nothing could be seen"
    return f"not decided within {timeout:g} s: {summary}. Run: lakegate wait {arguments}".rstrip()


def outcome(sights: list[Sight]) -> list[RenderableType]:
    """Return the outcome of each, batch by batch: published ones in short, others with reasons and the next command."""
    final_sights = sorted((sight for sight in sights if sight.at_end), key=lambda sight: (_rank(sight), sight.file))
    if not sights:
        return ["Nothing is in flight."]
    groups = groupby(final_sights, key=lambda sight: (_rank(sight), sight.state, sight.table, sight.batch))
    return [line for (_, state, _, _), group in groups for line in _group(state, list(group))]


def _rank(sight: Sight) -> tuple[int, str, str]:
    return (RANKS[sight.state], sight.table, sight.batch)


def _group(state: str, sights: list[Sight]) -> list[RenderableType]:
    first = sights[0]
    rows = sum(sight.rows for sight in sights)
    words = [first.table, count(len(sights), "file"), _rows(rows, sum(sight.replaced for sight in sights)), first.batch]
    text = clean("  ".join(filter(None, words)))
    head = Text(f"{ENDS[state].mark} ") + terminal.state(state) + Text(f"  {text}")
    if state in {Decision.PUBLISHED, ALREADY_PUBLISHED}:
        return [head, *_names(sights)]
    lines = (line for sight in sights for line in (f"    {sight.file}", *_first_reasons(sight, "", "red")))
    return [head, *lines, *_next(state, first)]


def _rows(rows: int, old_rows: int) -> str:
    in_place = f" in place of {count(old_rows, 'row')}" if old_rows else ""
    return count(rows, "row") + in_place if rows or old_rows else ""


def _names(sights: list[Sight]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for sight in sights[:MOST_NAMES]:
        lines.append(f"    {sight.file}" + (f"  {rows}" if (rows := _rows(sight.rows, sight.replaced)) else ""))
        if sight.state == Decision.PUBLISHED:
            lines += _first_reasons(sight, "warning: ", "yellow")
    rest = len(sights) - MOST_NAMES
    return [*lines, *([f"    … and {rest:,} more"] if rest > 0 else [])]


def _first_reasons(sight: Sight, before: str, colour: str) -> list[RenderableType]:
    """Return the first reasons, and where there are more the command that has them."""
    rest = len(sight.reasons) - REASONS
    rest_lines = (
        [indent(f"and {rest:,} more: lakegate show {sight.batch}", 6, colour)] if rest > 0 and sight.batch else []
    )
    reasons = sight.reasons[:REASONS] if rest_lines else sight.reasons
    return [*(indent(f"{before}{reason}", 6, colour) for reason in reasons), *rest_lines]


def _next(state: str, sight: Sight) -> list[str]:
    if state == Decision.REJECTED:
        lines = [f"    branch: {sight.branch}"] if sight.branch else []
        return [*lines, f"    next: lakegate show {sight.batch}"]
    if state == State.SUPERSEDED:
        return [f"    {NOTHING_TO_DO}"]
    return ["    next: lakegate contract push CONTRACT"] if state == State.UNROUTED else []
