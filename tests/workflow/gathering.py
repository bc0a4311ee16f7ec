"""A world's files on their way into batches: notes of those that wait, attempts that claim some, and jobs that end."""

from __future__ import annotations

from lakegate.landing.attempts import Attempt
from lakegate.workflow.receive import settle_and_gather
from lakegate.workflow.receiving.queued import PREFIX
from tests.world.world import World


def claimed(world: World) -> list[list[str]]:
    """The names of what each open attempt claims."""
    return sorted(sorted(world.names[file.id] for file in world.claims(attempt)) for attempt in world.attempts())


def notes(world: World) -> list[str]:
    return world.store.names(PREFIX)


def end_job(world: World, number: int = 0) -> Attempt:
    """A job ends, and its event arrives."""
    run = world.runner.open_runs()[number]
    world.runner.finish(run.id)
    attempt = Attempt.parse(run.branch)
    assert attempt
    settle_and_gather(world.service, attempt)
    return attempt
