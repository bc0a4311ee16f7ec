"""Errors that end a job or an attempt: each says what is wrong and what to run next. Bad data is reported instead."""

from lakegate.audit.advice import Advice


class JobError(Exception):
    """The job cannot go on, and nothing may be published of it."""


class Unfit(Exception):
    """The table does not fit the contract: the whole attempt is reported as not appended, with advice."""

    def __init__(self, message: str, *advice: Advice) -> None:
        super().__init__(message)
        self.advice = advice


class ListedTwice(JobError):
    """A table lists a file twice: a reader finds its rows twice."""


class HandedOver(Exception):
    """This engine cannot say exactly what Spark would, or the batch is beyond its limits. The reason is one plain
    sentence for people. There is no verdict: an attempt on Spark takes the files.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
