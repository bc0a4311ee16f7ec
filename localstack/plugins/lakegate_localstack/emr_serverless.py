"""EMR Serverless's API for LocalStack: applications, and job runs that are local `spark-submit` processes.

An application starts and stops at once, because nothing depends on that wait.
"""

import secrets
import string
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from localstack.aws.api import CommonServiceException, RequestContext, handler
from localstack.aws.connect import connect_to
from localstack.services.plugins import ServiceLifecycleHook

from lakegate_localstack.job_runner import JobRunner
from lakegate_localstack.job_runs import JobRun
from lakegate_localstack.settings import PackSettings
from lakegate_localstack.spark import spark_defaults

Answer = dict[str, Any]
SUMMARY = ("name", "arn", "releaseLabel", "type", "state", "stateDetails", "createdAt", "updatedAt", "architecture")
RELEASES = "emr-7."  # with the Spark that is installed
ZONES_WITHOUT = {"use1-az3", "cac1-az3"}  # "Service endpoints" of its user guide
CHANGEABLE = ("CREATED", "STOPPED")
ID_LETTERS = string.ascii_lowercase + string.digits


class ResourceNotFound(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("ResourceNotFoundException", message, 404)


class Invalid(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message, 400)


class Conflict(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("ConflictException", message, 409)


class EmrServerlessProvider(ServiceLifecycleHook):
    """Operations of the API. Applications and job runs are in memory, as all of the local cloud."""

    service = "emr-serverless"
    version = "2021-07-13"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._applications: dict[tuple[str, str, str], Answer] = {}
        self._job_runs: dict[str, JobRun] = {}
        self._answered: dict[tuple[str, ...], tuple[Answer, Answer]] = {}
        self._runner = JobRunner(PackSettings.from_env())

    def on_before_stop(self) -> None:
        self._runner.close(self._job_runs.values())

    @handler("CreateApplication", expand=False)
    def create_application(self, context: RequestContext, request: Answer) -> Answer:
        return self._once(context, "CreateApplication", "", request, lambda: self._create_application(context, request))

    def _create_application(self, context: RequestContext, request: Answer) -> Answer:
        if request["type"].lower() != "spark":
            raise Invalid(f"the local cloud runs Spark applications only, not {request['type']}")
        _refuse_other_spark(request)
        _refuse_zones(context, (request.get("networkConfiguration") or {}).get("subnetIds") or [])
        identity, now = new_id(), datetime.now(UTC)
        arn = f"arn:aws:emr-serverless:{context.region}:{context.account_id}:/applications/{identity}"
        defaults = {
            "architecture": "X86_64",
            "autoStartConfiguration": {"enabled": True},
            "autoStopConfiguration": {"enabled": True, "idleTimeoutMinutes": 15},
        }
        asked = {name: value for name, value in request.items() if name != "clientToken"}
        state = {"type": "Spark", "state": "CREATED", "stateDetails": "", "createdAt": now, "updatedAt": now}
        self._applications[context.account_id, context.region, identity] = (
            defaults | asked | state | {"applicationId": identity, "arn": arn}
        )
        return {"applicationId": identity, "name": request.get("name"), "arn": arn}

    @handler("GetApplication")
    def get_application(self, context: RequestContext, application_id: str, **_: Any) -> Answer:
        return {"application": self._application(context, application_id)}

    @handler("ListApplications")
    def list_applications(self, context: RequestContext, states: Iterable[str] | None = None, **_: Any) -> Answer:
        found = [
            {name: application[name] for name in SUMMARY if name in application} | {"id": identity}
            for (account, region, identity), application in self._applications.items()
            if (account, region) == (context.account_id, context.region)
            and (not states or application["state"] in states)
        ]
        return {"applications": found}

    @handler("UpdateApplication", expand=False)
    def update_application(self, context: RequestContext, request: Answer) -> Answer:
        application = self._changeable(context, request["applicationId"])
        _refuse_other_spark(request)
        changes = {name: value for name, value in request.items() if name not in {"applicationId", "clientToken"}}
        application.update(changes, updatedAt=datetime.now(UTC))
        return {"application": application}

    @handler("DeleteApplication")
    def delete_application(self, context: RequestContext, application_id: str, **_: Any) -> Answer:
        self._changeable(context, application_id).update(state="TERMINATED", updatedAt=datetime.now(UTC))
        return {}

    @handler("StartApplication")
    def start_application(self, context: RequestContext, application_id: str, **_: Any) -> Answer:
        self._application(context, application_id).update(state="STARTED", updatedAt=datetime.now(UTC))
        return {}

    @handler("StopApplication")
    def stop_application(self, context: RequestContext, application_id: str, **_: Any) -> Answer:
        application = self._application(context, application_id)
        if any(not run.state.is_final for run in self._runs_of(context, application_id)):
            raise Invalid(f"Application {application_id} has active job runs")
        application.update(state="STOPPED", updatedAt=datetime.now(UTC))
        return {}

    @handler("ListTagsForResource")
    def list_tags_for_resource(self, context: RequestContext, resource_arn: str, **_: Any) -> Answer:  # noqa: ARG002
        tags = {application["arn"]: application.get("tags") for application in self._applications.values()}
        tags |= {run.arn: run.request.get("tags") for run in self._job_runs.values()}
        if resource_arn not in tags:
            raise ResourceNotFound(f"{resource_arn} does not exist")
        return {"tags": tags[resource_arn] or {}}

    @handler("StartJobRun", expand=False)
    def start_job_run(self, context: RequestContext, request: Answer) -> Answer:
        application = self._application(context, request["applicationId"])
        check(application, request)
        return self._once(
            *(context, "StartJobRun", request["applicationId"], request),
            lambda: self._start_job_run(context, application, request),
        )

    def _start_job_run(self, context: RequestContext, application: Answer, request: Answer) -> Answer:
        application.update(state="STARTED", updatedAt=datetime.now(UTC))
        run = JobRun(
            account=context.account_id,
            region=context.region,
            application=dict(application),
            job_run_id=new_id(),
            request=request,
        )
        self._job_runs[run.job_run_id] = run
        self._runner.submit(run)
        return {"applicationId": request["applicationId"], "jobRunId": run.job_run_id, "arn": run.arn}

    @handler("GetJobRun")
    def get_job_run(self, context: RequestContext, application_id: str, job_run_id: str, **_: Any) -> Answer:
        return {"jobRun": self._job_run(context, application_id, job_run_id).describe()}

    @handler("ListJobRuns", expand=False)
    def list_job_runs(self, context: RequestContext, request: Answer) -> Answer:
        self._application(context, request["applicationId"])
        found = [run.summary() for run in self._runs_of(context, request["applicationId"]) if matches(run, request)]
        found.sort(key=lambda run: run["createdAt"], reverse=True)
        begin = int(request.get("nextToken") or 0)
        end = begin + int(request.get("maxResults") or 50)
        more = {"nextToken": str(end)} if end < len(found) else {}
        return {"jobRuns": found[begin:end], **more}

    @handler("CancelJobRun")
    def cancel_job_run(self, context: RequestContext, application_id: str, job_run_id: str, **_: Any) -> Answer:
        run = self._job_run(context, application_id, job_run_id)
        if run.state.is_final:
            raise Invalid(f"Job run {job_run_id} is in the terminal state {run.state.name}")
        self._runner.cancel(run)
        return {"applicationId": application_id, "jobRunId": job_run_id}

    def _once(
        self, context: RequestContext, operation: str, application_id: str, request: Answer, make: Callable[[], Answer]
    ) -> Answer:
        """Return the first answer for a client token. Raise Conflict if it comes again with other arguments."""
        key = (context.account_id, context.region, operation, application_id, request["clientToken"])
        with self._lock:
            if key not in self._answered:
                self._answered[key] = (request, make())
            asked, answer = self._answered[key]
        if asked != request:
            raise Conflict("The client token was used before with other arguments")
        return answer

    def _application(self, context: RequestContext, application_id: str) -> Answer:
        try:
            return self._applications[context.account_id, context.region, application_id]
        except KeyError:
            raise ResourceNotFound(f"Application {application_id} does not exist") from None

    def _changeable(self, context: RequestContext, application_id: str) -> Answer:
        application = self._application(context, application_id)
        if application["state"] not in CHANGEABLE:
            raise Invalid(f"Application {application_id} must be in state CREATED or STOPPED")
        return application

    def _job_run(self, context: RequestContext, application_id: str, job_run_id: str) -> JobRun:
        for run in self._runs_of(context, application_id):
            if run.job_run_id == job_run_id:
                return run
        raise ResourceNotFound(f"Job run {job_run_id} does not exist")

    def _runs_of(self, context: RequestContext, application_id: str) -> list[JobRun]:
        arn = self._application(context, application_id)["arn"]
        return [run for run in list(self._job_runs.values()) if run.application["arn"] == arn]


def check(application: Answer, request: Answer) -> None:
    """Raise Invalid for a request that StartJobRun refuses."""
    if application["state"] == "TERMINATED":
        raise Invalid(f"Application {application['applicationId']} is terminated")
    if application["state"] != "STARTED" and not application["autoStartConfiguration"].get("enabled", True):
        raise Invalid(f"Application {application['applicationId']} is not started")
    if "sparkSubmit" not in (request.get("jobDriver") or {}):
        raise Invalid("the local cloud runs jobDriver.sparkSubmit only")
    try:
        spark_defaults(application, request.get("configurationOverrides") or {})
    except ValueError as exc:
        raise Invalid(str(exc)) from exc


def _refuse_other_spark(request: Answer) -> None:
    release = request.get("releaseLabel", RELEASES)
    if not release.startswith(RELEASES):
        raise Invalid(f"the local cloud runs the Spark of {RELEASES}… only, not that of {release}")


def _refuse_zones(context: RequestContext, subnets: list[str]) -> None:
    """Raise Invalid if a subnet is in a zone without EMR Serverless."""
    if not subnets:
        return
    ec2 = connect_to(aws_access_key_id=context.account_id, region_name=context.region).ec2
    zones = {subnet["AvailabilityZoneId"] for subnet in ec2.describe_subnets(SubnetIds=subnets)["Subnets"]}
    if wrong := sorted(zones & ZONES_WITHOUT):
        raise Invalid(f"The subnets are in unsupported availability zones: {', '.join(wrong)}")


def matches(run: JobRun, request: Answer) -> bool:
    """Return True if the job run passes the filters of ListJobRuns."""
    states, after, before = (request.get(name) for name in ("states", "createdAtAfter", "createdAtBefore"))
    return (
        (not states or run.state.name in states)
        and (not after or run.created_at >= after)
        and (not before or run.created_at <= before)
    )


def new_id() -> str:
    return "00" + "".join(secrets.choice(ID_LETTERS) for _ in range(14))
