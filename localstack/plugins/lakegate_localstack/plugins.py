"""LocalStack's entry points to the pack. Each imports its module when LocalStack asks for it."""
# ruff: noqa: PLC0415

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localstack.runtime import hooks
from localstack.services.cloudformation.resource_provider import CloudFormationResourceProviderPlugin
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.plugins import Service, aws_provider

if TYPE_CHECKING:
    from lakegate_localstack.functions import ProcessExecutor


class ProcessExecutorPlugin(RuntimeExecutorPlugin):
    """An executor that LAMBDA_RUNTIME_EXECUTOR=process chooses."""

    name = "process"

    def load(self, *_args: Any, **_kwargs: Any) -> "type[ProcessExecutor]":
        from lakegate_localstack.functions import ProcessExecutor

        return ProcessExecutor


@aws_provider(api="emr-serverless")
def emr_serverless() -> Service:
    from lakegate_localstack.emr_serverless import EmrServerlessProvider

    return Service.for_provider(EmrServerlessProvider())


@aws_provider(api="cloudformation", name="lakegate")
def cloudformation() -> Service:
    from lakegate_localstack.stacks import make

    return Service.for_provider(make())


class ApplicationPlugin(CloudFormationResourceProviderPlugin):
    name = "AWS::EMRServerless::Application"

    def load(self) -> None:
        from lakegate_localstack.cloudformation import ApplicationProvider

        self.factory = ApplicationProvider


class CustomResourcePlugin(CloudFormationResourceProviderPlugin):
    name = "AWS::CloudFormation::CustomResource"

    def load(self) -> None:
        from lakegate_localstack.cloudformation import RefusedCustomResource

        self.factory = RefusedCustomResource


@hooks.on_infra_start()
def mend_localstack() -> None:
    """Patch LocalStack where it differs from AWS or ignores its settings."""
    from localstack.services.s3 import provider

    from lakegate_localstack import (
        batch_windows,
        browsers,
        calls,
        faults,
        function_calls,
        function_urls,
        keys,
        loopback,
        request_models,
        s3_events,
        schedules,
        service_catalog,
        throttles,
        web_identities,
    )

    # LocalStack has one fixed folder for S3's objects, which two local clouds would share.
    provider.DEFAULT_S3_TMP_DIR = str(Path(tempfile.gettempdir()) / "s3")
    s3_events.apply()
    batch_windows.apply()
    function_urls.apply()
    loopback.apply()
    browsers.apply()
    calls.apply()
    faults.apply()
    schedules.apply()
    service_catalog.apply()
    request_models.apply()
    throttles.apply()
    keys.apply()
    function_calls.apply()
    web_identities.apply()
