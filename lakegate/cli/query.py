"""`query`: the answer to a person's SQL, on main or on a branch. It only reads."""

from lakegate.cli.installation import Installation
from lakegate.cli.sql import Statement, plain, run
from lakegate.cli.terminal import busy, console, grid, print_lines, say_json
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.ports import MAIN, Ref

MOST_ROWS = 200  # rows in a terminal; --json prints all
MOST_BRANCHES = 10  # branches


def query(installation: Installation, sql: str, ref: str, *, as_json: bool) -> None:
    with busy(f"reading {ref}"):
        result = run(installation.lake, Statement.parse(sql), pin(installation, Ref.parse(ref)))
    if as_json:
        say_json([dict(zip(result.columns, map(plain, row), strict=True)) for row in result.rows])
        return
    print_lines(grid(result.columns, result.rows[:MOST_ROWS], console().width))
    rest = len(result.rows) - MOST_ROWS
    print_lines(
        count(len(result.rows), "row") + (f"; {rest:,} more are not shown (--json prints all)" if rest > 0 else "")
    )


def pin(installation: Installation, ref: Ref) -> Ref:
    """Return the ref pinned to its present head, so that all tables are read at one commit."""
    head = ref.commit or installation.branches.head(ref.branch)
    if head is None or not ref.branch:
        branches = [MAIN, *(branch.name for branch in installation.branches.list_branches())]
        rest_text = (
            f" and {len(branches) - MOST_BRANCHES:,} more (lakegate status)" if len(branches) > MOST_BRANCHES else ""
        )
        raise Misconfigured(f"there is no branch {ref}; open are: {', '.join(branches[:MOST_BRANCHES])}{rest_text}")
    return Ref(ref.branch, head)
