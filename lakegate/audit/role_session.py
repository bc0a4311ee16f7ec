"""The session of an IAM role, which no token of AWS STS outlives.

It is beside the audit because Spark's job asks STS too. It asks nothing itself.
"""

from collections.abc import Iterator

TOO_LONG = "SessionDurationEscalationException"  # STS's code for a token that would outlive its session
SHORTEST = 60  # seconds: STS gives no shorter life


def lives(longest: int) -> Iterator[int]:
    """Yield the lives of a token to ask for, in seconds, each half of the one before, down to STS's shortest."""
    while longest > SHORTEST:
        yield longest
        longest //= 2
    yield SHORTEST


def end_message(arn: str) -> str:
    """Return what to do about a session of this ARN that ends before the shortest token does."""
    role = arn.split("/")[1] if ":assumed-role/" in arn else arn
    return (
        f"the session of {role} ends within a minute, and STS gives no token that outlives it. Sign in again, as by "
        "aws sso login; a function or a job has a new session at its next try"
    )
