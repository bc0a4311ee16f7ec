"""`query`: the answer to a person's SQL, on main or on a branch, by the installation's function. It only reads."""

from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, console, grid, print_lines, say_json
from lakegate.counts import count
from lakegate.operations.query import Query

MOST_ROWS = 200  # rows in a terminal; --json prints all


def query(installation: Installation, sql: str, ref: str, *, as_json: bool) -> None:
    with busy(f"reading {ref}"):
        limit = None if as_json else MOST_ROWS
        answer = installation.operations.run(Query(sql=sql, ref=ref, token=installation.token(), limit=limit))
    if as_json:
        say_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
        return
    print_lines(grid(answer.columns, answer.rows, console().width))
    rest = f"; {answer.rest:,} more are not shown (--json prints all)" if answer.rest else ""
    print_lines(count(len(answer.rows) + answer.rest, "row") + rest)
