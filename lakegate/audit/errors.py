"""Errors that end a job or an attempt: each says what is wrong and what to run next. Bad data is reported instead."""


class JobError(Exception):
    """The job cannot go on, and nothing may be published of it."""


class Unfit(Exception):
    """The table does not fit the contract: the whole attempt is reported as not appended."""


class ListedTwice(JobError):
    """A table lists a file twice: a reader finds its rows twice."""
