"""The edge of a page: an error ends there as a paragraph, as in a terminal."""

import traceback
from collections.abc import Callable
from functools import wraps

from lakegate.cli.exits import paragraph
from lakegate.dashboard import markup
from lakegate.settings import CommandLine


def with_errors(page: Callable[[], None]) -> Callable[[], None]:
    """Return the page, or part of one, which shows what is wrong instead of raising it."""

    @wraps(page)
    def run() -> None:
        try:
            page()
        except Exception as error:  # noqa: BLE001 (the process's edge)
            if CommandLine.from_env().debug:
                traceback.print_exception(error)
            markup.problem(paragraph(error))

    return run
