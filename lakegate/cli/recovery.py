"""Recovery of a stack that an earlier deployment has left half done, until it can be made or updated."""

from collections.abc import Callable

from lakegate.adapters.stacks import KEPT_STATUS, Stacks, StackState
from lakegate.deployment.states import READY, Step, step, way_out
from lakegate.errors import Misconfigured, Retryable

PAUSE, LONGEST = 5.0, 7200.0  # seconds between two looks at a stack, and that an operation of somebody else's may take
REUSE = 60.0  # seconds after which SQS gives the name of a deleted queue again

Notify = Callable[[str], None]
Pause = Callable[[float], None]


def recover(stacks: Stacks, stack: str, notify: Notify, pause: Pause) -> StackState:
    """Take the steps that a stack's states ask for, each once, and return the state that a deployment begins with.
    Raise Misconfigured, with the commands that are left to a person, where they do not lead there.
    """
    acts = {Step.ROLL_BACK: stacks.roll_back, Step.CONTINUE: stacks.continue_rollback, Step.DELETE: stacks.delete}
    while (next_step := step((state := at_rest(stacks, stack, notify, pause)).status)) not in READY:
        if next_step not in acts:
            raise Misconfigured(_stuck(stacks, stack, state))
        notify(f"{stack} is {state.status}, of an earlier deployment: {next_step}")
        acts.pop(next_step)(stack)
        if next_step is Step.DELETE:
            at_rest(stacks, stack, notify, pause)
            _report_kept(stacks, state.id, notify)
            pause(REUSE)
    return state


def at_rest(stacks: Stacks, stack: str, notify: Notify, pause: Pause) -> StackState:
    """Wait for the end of any operation, such as an interrupted deployment's, and return the stack's state."""
    status = ""
    for _ in range(round(LONGEST / PAUSE)):
        state = stacks.state(stack)
        if step(state.status) is not Step.WAIT:
            return state
        if state.status != status:
            notify(f"{stack} is {state.status}: waiting for its end")
        status = state.status
        pause(PAUSE)
    raise Retryable(f"the stack {stack} is {status} after two hours: run the same command again")


def _report_kept(stacks: Stacks, stack_id: str, notify: Notify) -> None:
    for resource in stacks.resources(stack_id):
        if resource.status == KEPT_STATUS:
            notify(f"kept, and of no stack any more: {resource.id} ({resource.kind})")


def _stuck(stacks: Stacks, stack: str, state: StackState) -> str:
    failures = [resource for resource in stacks.resources(stack) if resource.has_failed]
    lines = [f"  {resource.name} ({resource.kind}, {resource.id}): {resource.reason}" for resource in failures]
    advice = way_out(stack, state.status, [resource.name for resource in failures])
    return "\n".join([f"the stack {stack} is {state.status} still, and nothing was deployed:", *lines, advice])
