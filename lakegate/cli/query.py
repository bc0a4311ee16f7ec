"""`query`: the answer to a person's SQL, on main or on a branch. It only reads."""

from lakegate.cli.installation import Installation
from lakegate.cli.sql import Statement, plain, run
from lakegate.cli.terminal import busy, console, grid, say, say_json
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.ports import MAIN, Ref

SHOWN = 200  # rows in a terminal; --json prints all
NAMED = 10  # branches


def query(installation: Installation, sql: str, ref: str, *, as_json: bool) -> None:
    with busy(f"reading {ref}"):
        result = run(installation.lake, Statement.parse(sql), pinned(installation, Ref.parse(ref)))
    if as_json:
        say_json([dict(zip(result.columns, map(plain, row), strict=True)) for row in result.rows])
        return
    say(grid(result.columns, result.rows[:SHOWN], console().width))
    hidden = len(result.rows) - SHOWN
    say(count(len(result.rows), "row") + (f"; {hidden:,} more are not shown (--json prints all)" if hidden > 0 else ""))


def pinned(installation: Installation, ref: Ref) -> Ref:
    """Return the ref pinned to its present head, so that all tables are read at one commit."""
    head = ref.commit or installation.branches.head(ref.branch)
    if head is None or not ref.branch:
        found = [MAIN, *(it.name for it in installation.branches.list_branches())]
        more = f" and {len(found) - NAMED:,} more (lakegate status)" if len(found) > NAMED else ""
        raise Misconfigured(f"there is no branch {ref}; open are: {', '.join(found[:NAMED])}{more}")
    return Ref(ref.branch, head)
