import pytest
from lakegate_localstack.job_runs import NEXT, JobRun, State

ARN = "arn:aws:emr-serverless:r:1:/applications/00app"
APPLICATION = {"applicationId": "00app", "arn": ARN, "releaseLabel": "emr-7.13.0"}


@pytest.fixture
def run() -> JobRun:
    return JobRun(
        account="1", region="r", application=APPLICATION, job_run_id="00run", request={"executionRoleArn": "arn:role"}
    )


def test_way_of_a_good_job_run_is_open(run: JobRun) -> None:
    for state in (State.PENDING, State.SCHEDULED, State.RUNNING, State.SUCCESS):
        assert run.move(state)

    assert run.describe()["state"] == "SUCCESS"
    assert run.describe()["startedAt"] <= run.describe()["endedAt"]


def test_a_job_run_is_billed_once_it_has_ended(run: JobRun) -> None:
    for state in (State.PENDING, State.SCHEDULED, State.RUNNING):
        run.move(state)
    assert "billedResourceUtilization" not in run.describe()
    run.move(State.SUCCESS)
    assert run.describe()["billedResourceUtilization"]["vCPUHour"] > 0


def test_a_job_run_that_never_ran_is_billed_for_nothing(run: JobRun) -> None:
    run.move(State.CANCELLING)
    run.move(State.CANCELLED)
    assert "billedResourceUtilization" not in run.describe()


@pytest.mark.parametrize("final", [state for state in State if state.is_final])
def test_final_state_is_never_left(run: JobRun, final: State) -> None:
    run.state = final

    assert not any(run.move(state) for state in State)
    assert run.state is final


def test_cancelled_job_run_can_only_end_cancelled() -> None:
    assert NEXT[State.CANCELLING] == {State.CANCELLED}


def test_reason_stays_when_a_later_state_gives_none(run: JobRun) -> None:
    run.move(State.PENDING)
    run.move(State.CANCELLING, "out of time")
    run.move(State.CANCELLED)

    assert run.describe()["stateDetails"] == "out of time"
