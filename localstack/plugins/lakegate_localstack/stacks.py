"""CloudFormation's stacks as AWS has them: protected from deletion, rolled back as their policies say, and left in the
states that a failure leaves. A test says which resource fails (`faults`).

LocalStack's own provider takes nothing back, keeps no resource that is to be kept, and deletes what is protected.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from localstack.aws.api import RequestContext, handler
from localstack.aws.api.cloudformation import ChangeAction, ResourceStatus, StackStatus
from localstack.aws.connect import connect_to
from localstack.services.cloudformation.engine.v2.change_set_model import is_nothing
from localstack.services.cloudformation.engine.v2.change_set_model_executor import (
    ChangeSetModelExecutor,
    ChangeSetModelExecutorResult,
)
from localstack.services.cloudformation.engine.v2.change_set_model_preproc import PreprocProperties
from localstack.services.cloudformation.engine.validations import ValidationError
from localstack.services.cloudformation.resource_provider import OperationStatus, ProgressEvent
from localstack.services.cloudformation.stores import get_cloudformation_store
from localstack.services.cloudformation.v2 import provider
from localstack.services.cloudformation.v2.entities import ChangeSet
from localstack.utils.threads import start_worker_thread

from lakegate_localstack.faults import faults
from lakegate_localstack.records import RECORDS, Record

ADD, MODIFY, REMOVE = ChangeAction.Add, ChangeAction.Modify, ChangeAction.Remove
NOT_UPDATED = ("ROLLBACK_", "CREATE_FAILED", "DELETE_", "UPDATE_FAILED", "UPDATE_ROLLBACK_FAILED")
BUCKET = "AWS::S3::Bucket"


@dataclass(frozen=True, kw_only=True)
class Undo:
    """A change of one resource that a rollback takes back; without `before` it was added."""

    name: str
    kind: str
    after: Any
    before: Any = None


class Executor(ChangeSetModelExecutor):
    """An executor that takes back what it has changed if one change fails."""

    def __init__(self, change_set: ChangeSet) -> None:
        super().__init__(change_set)
        self.stack, self.undos = change_set.stack, list[Undo]()
        self.is_creation = change_set.change_set_type == "CREATE"
        self._is_rollback = False
        load = self.resource_provider_executor.try_load_resource_provider
        self.resource_provider_executor.try_load_resource_provider = lambda kind: (
            Record(kind) if kind in RECORDS else load(kind)
        )

    def execute(self) -> ChangeSetModelExecutorResult:
        try:
            self.process()
        except Exception as error:  # noqa: BLE001 - whatever it is, CloudFormation rolls back
            return self._fail(str(getattr(error, "reason", None) or error))
        if self._deferred_actions:
            self.stack.set_stack_status(StackStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS)
        for deferred in reversed(self._deferred_actions):
            deferred.action()
        return ChangeSetModelExecutorResult(resources=self.resources, outputs=self.outputs)

    def _fail(self, reason: str) -> ChangeSetModelExecutorResult:
        self.stack.executor = self
        if getattr(self._change_set, "keeps_failure", False):
            self.stack.set_stack_status(StackStatus.CREATE_FAILED if self.is_creation else StackStatus.UPDATE_FAILED)
        else:
            self.roll_back(reason)
        if not self.is_creation:  # LocalStack would take the new template for the deployed one
            for name in ("template", "processed_template", "template_body", "resolved_parameters"):
                setattr(self._change_set, name, getattr(self.stack, name))
        return ChangeSetModelExecutorResult(
            resources=self.stack.resolved_resources, outputs=self.outputs, failure_message=reason
        )

    def roll_back(self, reason: str | None = None, passed_over: Collection[str] = ()) -> None:
        """Take back every change, the last one first. What fails stays to be taken back."""
        prefix, self._is_rollback = "" if self.is_creation else "UPDATE_", True
        self.stack.set_stack_status(StackStatus(f"{prefix}ROLLBACK_IN_PROGRESS"), reason)
        undos = [undo for undo in self.undos if undo.name not in passed_over]
        self.undos = [undo for undo in reversed(undos) if not self._take_back(undo)][::-1]
        left = {undo.name: self.resources[undo.name] for undo in self.undos}
        self.stack.resolved_resources = left if self.is_creation else {**self._before_resolved_resources}
        self.stack.set_stack_status(StackStatus(f"{prefix}ROLLBACK_{'FAILED' if self.undos else 'COMPLETE'}"))

    def _take_back(self, undo: Undo) -> bool:
        if undo.before is None:
            return self.remove(undo.name, undo.kind, undo.after)
        event = self._execute_resource_action(
            MODIFY, undo.name, undo.kind, PreprocProperties(undo.after), PreprocProperties(undo.before)
        )
        self._state(undo.name, undo.kind, "UPDATE", event)
        return bool(event.status == OperationStatus.SUCCESS)

    def delete(self, retained: Collection[str]) -> None:
        """Delete every resource of the stack, but what is to be kept."""
        resources = self.stack.resolved_resources
        for name, resource in reversed(list(resources.items())):
            if name in retained or self.remove(name, resource["Type"], resource.get("Properties") or {}):
                resources.pop(name)
        self.stack.set_stack_status(StackStatus.DELETE_FAILED if resources else StackStatus.DELETE_COMPLETE)

    def remove(self, name: str, kind: str, properties: Any) -> bool:
        """Remove a resource unless it is to be kept. Return False if that fails."""
        if self._keeps(name):
            self._state(name, kind, "DELETE", None)
            return True
        event = self._execute_resource_action(REMOVE, name, kind, PreprocProperties(properties), None)
        self._state(name, kind, "DELETE", event)
        return bool(event.status == OperationStatus.SUCCESS)

    def _state(self, name: str, kind: str, verb: str, event: Any) -> None:
        """Record what became of a resource, which was skipped if there is no event."""
        ended = "FAILED" if event and event.status != OperationStatus.SUCCESS else "COMPLETE" if event else "SKIPPED"
        state = self.stack.resource_states.setdefault(name, {})
        self.stack.set_resource_status(
            logical_resource_id=name,
            physical_resource_id=state.get("PhysicalResourceId"),
            resource_type=kind,
            status=ResourceStatus(f"{verb}_{ended}"),
            resource_status_reason=event.message if event else None,
        )

    def _keeps(self, name: str) -> bool:
        """Return True if a policy keeps the resource, which is one that this operation has made only in a rollback."""
        templates = [template for template in (self._change_set.template, self.stack.template) if template]
        bodies = [body for template in templates if (body := template["Resources"].get(name))]
        policy = bodies[0].get("DeletionPolicy", "Delete") if bodies else "Delete"
        return policy == "Retain" or (policy == "RetainExceptOnCreate" and not self._is_rollback)

    def _process_event(self, **event: Any) -> None:
        """Record an event of a resource, by which the stack itself fails in LocalStack before it is rolled back."""
        status = self.stack.status
        super()._process_event(**event)
        self.stack.status = status

    def _execute_resource_change(self, name: str, before: Any, after: Any) -> None:
        old = self._before_resolved_resources.get(name, {}).get("Properties")
        super()._execute_resource_change(name, before, after)
        if is_nothing(after):
            return
        now = self.resources[name]
        is_new = is_nothing(before) or bool(after.requires_replacement)
        if now["ResourceStatus"] not in {ResourceStatus.CREATE_FAILED, ResourceStatus.UPDATE_FAILED} or not is_new:
            properties = now.get("Properties") or old
            self.undos.append(Undo(name=name, kind=now["Type"], after=properties, before=None if is_new else old))

    def _execute_resource_action(
        self,
        action: ChangeAction,
        logical_resource_id: str,
        resource_type: str,
        before_properties: Any,
        after_properties: Any,
        part_of_replacement: bool = False,  # noqa: FBT001, FBT002
    ) -> Any:
        is_import = logical_resource_id in getattr(self._change_set, "imports", ())
        fault = faults.get(f"{action.value} {logical_resource_id}") or (
            not is_import and self._refusal(action, resource_type, before_properties or after_properties)
        )
        if fault:
            if action != REMOVE:
                self.resources[logical_resource_id] = {
                    "LogicalResourceId": logical_resource_id,
                    "Type": resource_type,
                    "ResourceStatus": ResourceStatus.CREATE_FAILED if action == ADD else ResourceStatus.UPDATE_FAILED,
                    "ResourceStatusReason": fault,
                }
            return ProgressEvent(OperationStatus.FAILED, resource_model={}, message=fault)
        kept = self.resources.get(logical_resource_id)
        event = super()._execute_resource_action(
            action,
            logical_resource_id,
            resource_type,
            before_properties,
            after_properties,
            part_of_replacement,
        )
        if action == REMOVE and kept:
            self.resources[logical_resource_id] = kept
        return event

    def _refusal(self, action: ChangeAction, kind: str, properties: Any) -> str:
        """Return how S3 refuses a bucket that exists, or that is not empty, which LocalStack takes and deletes."""
        name = properties.properties.get("BucketName") if kind == BUCKET and properties else None
        if not name:
            return ""
        s3 = connect_to(aws_access_key_id=self.stack.account_id, region_name=self.stack.region_name).s3
        exists = name in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        if action == ADD and exists:
            return f"{name} already exists"
        if action == REMOVE and exists and s3.list_object_versions(Bucket=name, MaxKeys=1).get("Versions"):
            return f"The bucket you tried to delete is not empty: {name}"
        return ""


class Stacks(provider.CloudformationProviderV2):
    """LocalStack's provider, with what AWS refuses and the ways out of a failure."""

    @handler("CreateChangeSet", expand=False)
    def create_change_set(self, context: RequestContext, request: Any) -> Any:
        stack = self._stack(context, request["StackName"])
        status, imports = stack.status if stack else "", request.get("ResourcesToImport") or ()
        if request.get("ChangeSetType") == "IMPORT":
            request = {**request, "ChangeSetType": "UPDATE" if _is_made(status) else "CREATE"}
        if request.get("ChangeSetType") == "UPDATE" and _is_busy(status, *NOT_UPDATED):
            raise ValidationError(f"Stack:{stack.stack_id} is in {status} state and can not be updated.")
        answer = super().create_change_set(context, request)
        change_set = get_cloudformation_store(context.account_id, context.region).change_sets[answer["Id"]]
        change_set.imports = {resource["LogicalResourceId"] for resource in imports}
        if request.get("ChangeSetType", "UPDATE") == "UPDATE":
            change_set.stack.status = status
        return answer

    @handler("ExecuteChangeSet")
    def execute_change_set(self, context: RequestContext, change_set_name: str, **given: Any) -> Any:
        store = get_cloudformation_store(context.account_id, context.region)
        if change_set := provider.find_change_set_v2(store, change_set_name, given.get("stack_name")):
            change_set.keeps_failure = given.get("disable_rollback")
        return super().execute_change_set(context, change_set_name, **given)

    @handler("CreateStack", expand=False)
    def create_stack(self, context: RequestContext, request: Any) -> Any:
        if self._stack(context, request["StackName"]):
            raise provider.AlreadyExistsException(f"Stack [{request['StackName']}] already exists")
        return self._change(context, request, "CREATE")

    @handler("UpdateStack", expand=False)
    def update_stack(self, context: RequestContext, request: Any) -> Any:
        return self._change(context, request, "UPDATE")

    def _change(self, context: RequestContext, request: Any, kind: str) -> Any:
        """Change a stack by a change set, as AWS does within."""
        answer = self.create_change_set(
            context, {**request, "ChangeSetName": f"{kind.lower()}-at-once", "ChangeSetType": kind}
        )
        change_set = get_cloudformation_store(context.account_id, context.region).change_sets[answer["Id"]]
        if change_set.status == "FAILED":
            raise ValidationError(change_set.status_reason or "No updates are to be performed.")
        self.execute_change_set(context, answer["Id"])
        return {"StackId": answer["StackId"]}

    @handler("DeleteStack")
    def delete_stack(self, context: RequestContext, stack_name: str, retain_resources: Any = None, **_: Any) -> None:
        stack = self._stack(context, stack_name)
        if not stack:
            return
        if stack.enable_termination_protection:
            raise ValidationError(f"Stack [{stack_name}] cannot be deleted while TerminationProtection is enabled")
        if retain_resources and stack.status != StackStatus.DELETE_FAILED:
            raise ValidationError(f"Stack [{stack_name}] is not DELETE_FAILED, where resources may be retained")
        stack.set_stack_status(StackStatus.DELETE_IN_PROGRESS)
        change_set = ChangeSet(stack, {"ChangeSetName": f"delete-{stack_name}"}, template_body="")
        start_worker_thread(lambda _: Executor(change_set).delete(retain_resources or ()))

    @handler("RollbackStack")
    def rollback_stack(self, context: RequestContext, stack_name: str, **_: Any) -> Any:
        return self._roll_back(context, stack_name, (), StackStatus.CREATE_FAILED, StackStatus.UPDATE_FAILED)

    @handler("ContinueUpdateRollback")
    def continue_update_rollback(
        self, context: RequestContext, stack_name: str, resources_to_skip: Any = None, **_: Any
    ) -> Any:
        self._roll_back(context, stack_name, resources_to_skip or (), StackStatus.UPDATE_ROLLBACK_FAILED)
        return {}

    def _roll_back(self, context: RequestContext, name: str, passed_over: Collection[str], *states: str) -> Any:
        stack = self._stack(context, name)
        if not stack or stack.status not in states:
            raise ValidationError(
                f"Stack [{name}] is in {stack.status if stack else 'no'} state and is not rolled back"
            )
        executor, prefix = stack.executor, "" if stack.executor.is_creation else "UPDATE_"
        stack.set_stack_status(StackStatus(f"{prefix}ROLLBACK_IN_PROGRESS"))
        start_worker_thread(lambda _: executor.roll_back(None, passed_over))
        return {"StackId": stack.stack_id}

    @staticmethod
    def _stack(context: RequestContext, name: str) -> Any:
        store = get_cloudformation_store(context.account_id, context.region)
        return next(
            (it for it in store.stacks_v2.values() if name in {it.stack_name, it.stack_id} and it.is_active()), None
        )


def _is_busy(status: str, *others: str) -> bool:
    return status.startswith(others) or (status.endswith("_IN_PROGRESS") and not status.startswith("REVIEW"))


def _is_made(status: str) -> bool:
    return bool(status) and not status.startswith("REVIEW")


def make() -> Stacks:
    """Return the provider, whose changes are made by our executor."""
    provider.ChangeSetModelExecutor = Executor
    return Stacks()
