"""Deliberate breakages of the product's own code, each a line or two that are others in one run of the simulation.

A mutation names the lines that it replaces; where one is no longer there, it fails loudly, and whoever changed the
code decides what the breakage is now.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from lakegate.adapters.http import status_error
from lakegate.audit import completeness
from lakegate.audit import run as audit
from lakegate.audit.evaluation import observation
from lakegate.landing import lane, standing
from lakegate.landing.attempts import Attempt
from lakegate.landing.receipts import Receipt
from lakegate.publishing import guards as table_guards
from lakegate.publishing.nessie import NessieCatalog
from lakegate.testing import MemoryLake
from lakegate.workflow import publish, receive, reconcile, settle
from lakegate.workflow.attempts import history, launch, reports, start
from lakegate.workflow.ledger import compaction, decisions, names, receipts, truncation
from lakegate.workflow.notices import events, expiry, late, outbox
from lakegate.workflow.publishing import guards, proofs, rebase, rejection
from lakegate.workflow.publishing.audit import Audit
from lakegate.workflow.receiving import shares
from lakegate.workflow.receiving.company import Company
from lakegate.workflow.settlement import reader, rules
from tests.world.engine import StoryEngine

OURS = ("lakegate.", "tests.simulation.", "tests.world.")


class Gone(LookupError):
    """The text that a mutation would replace is no longer in the code."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A line `old` of a function, or of a class's method, that becomes `new`."""

    function: Callable[..., Any]
    old: str
    new: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The broken function in its own place, and wherever it was imported to."""
        broken = self._broken()
        modules = [module for module in list(sys.modules.values()) if module.__name__.startswith(OURS)]
        classes = [it for module in modules for it in vars(module).values() if isinstance(it, type)]
        places = [
            (owner, name)
            for owner in [*modules, *dict.fromkeys(classes)]
            for name, value in vars(owner).items()
            if value is self.function
        ]
        _put(places, broken)
        try:
            yield
        finally:
            _put(places, self.function)

    def _broken(self) -> Callable[..., Any]:
        source = textwrap.dedent(inspect.getsource(self.function))
        if source.count(self.old) != 1:
            raise Gone(f"{self.function.__qualname__} has {source.count(self.old)} times {self.old!r}")
        made: dict[str, Any] = {}
        code = compile(source.replace(self.old, self.new), inspect.getfile(self.function), "exec")
        exec(code, inspect.unwrap(self.function).__globals__, made)
        broken: Callable[..., Any] = made[self.function.__name__]
        return broken


def _put(places: list[tuple[Any, str]], function: Callable[..., Any]) -> None:
    for module, name in places:
        setattr(module, name, function)


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A change that breaks something, in words and in code. One that few schedules see is looked for from a seed on."""

    says: str
    edits: tuple[Edit, ...]
    seeds_from: int = 0

    @contextmanager
    def applied(self) -> Iterator[None]:
        with ExitStack() as stack:
            for edit in self.edits:
                stack.enter_context(edit.applied())
            yield


MUTATIONS = (
    Mutation(
        says="a merge is forced: it overwrites what main changed meanwhile",
        edits=(Edit(function=MemoryLake.merge, old="if conflicts:", new="if False:"),),
        seeds_from=3,
    ),
    Mutation(
        says="a job appends once more when it has no answer, and does not prove what is there",
        edits=(
            Edit(
                function=StoryEngine.append,
                old="self.cluster.lake.spark_append(",
                new="paths |= {f'{path}-again': rows for path, rows in paths.items()}\n"
                "    self.cluster.lake.spark_append(",
            ),
            Edit(function=completeness.prove, old="if actual != rows:", new="if False:"),
        ),
        seeds_from=6,
    ),
    Mutation(
        says="a person's word publishes what another attempt has decided since",
        edits=(
            Edit(
                function=guards.guard_rejected,
                old="entry.decision is not Decision.REJECTED or not entry.is_of(audit.attempt)",
                new="False",
            ),
            Edit(function=Receipt.with_decision, old="entry.decision not in MAY_BECOME[old.decision]", new="False"),
        ),
        seeds_from=437,
    ),
    Mutation(
        says="publish merges the branch as it is, whatever was audited",
        edits=(
            Edit(function=proofs.prove_audit, old="head != report.audited", new="False"),
            Edit(
                function=publish._merge,
                old="audit.attempt.branch, audit.report.audited, record",
                new='audit.attempt.branch, service.branches.head(audit.attempt.branch) or "", record',
            ),
        ),
        seeds_from=892,
    ),
    Mutation(
        says="a rebase asks not whether the tables are the same",
        edits=(
            Edit(
                function=table_guards.guard_tables,
                old="if source.is_same(table, current, target):",
                new="if current is not None:",
            ),
        ),
        seeds_from=10,
    ),
    Mutation(
        says="a table grows that is not what it was",
        edits=(Edit(function=table_guards.guard_tables, old="current == before and", new=""),),
        seeds_from=3176,
    ),
    Mutation(
        says="a publish brings columns of files that stay behind",
        edits=(Edit(function=guards.guard_schema, old="- changes", new="- changes - set(audit.report.evolves)"),),
        seeds_from=440,
    ),
    Mutation(
        says="publish asks not whether the tables of its verdicts have moved",
        edits=(Edit(function=guards.guard_unmoved, old="if names:", new="if False:"),),
        seeds_from=22,
    ),
    Mutation(
        says="a table that verdicts refer to may lose data files",
        edits=(Edit(function=guards._only_gained, old="not changes.removes", new="True"),),
        seeds_from=328,
    ),
    Mutation(
        says="a table that verdicts refer to may lose rows to delete files",
        edits=(Edit(function=guards._only_gained, old="not changes.deletes", new="True"),),
        seeds_from=804,
    ),
    Mutation(
        says="workers that rebase an attempt share a branch",
        edits=(Edit(function=Attempt.rebase, old="{nonce}", new=""),),
        seeds_from=5318,
    ),
    Mutation(
        says="publish asks not whether the contract was pushed anew",
        edits=(Edit(function=guards.guard_contract, old="!= audit.report.contract_hash", new="is None"),),
        seeds_from=288,
    ),
    Mutation(
        says="the good part of a batch is published with the bad one's receipts and rows",
        edits=(Edit(function=rebase.trim, old="audit.claims_without(files)", new="[]"),),
        seeds_from=6,
    ),
    Mutation(
        says="what was taken out of a data file for several files is published for one of them",
        edits=(Edit(function=guards.guard_rewriting, old="if audit.rewriters(files) and", new="if False and"),),
        seeds_from=366,
    ),
    Mutation(
        says="what is left of a data file that rows were taken out of is not brought along",
        edits=(
            Edit(function=Audit.gains, old="self.adds(files)", new="self.paths(files)"),
            Edit(function=proofs.prove_own, old="audit.adds(files)", new="audit.paths(files)"),
        ),
        seeds_from=289,
    ),
    Mutation(
        says="a data file is replaced that somebody has rewritten since",
        edits=(Edit(function=table_guards.guard_replaced, old="paths & changes.removes", new="False"),),
        seeds_from=846,
    ),
    Mutation(
        says="rows that somebody has rewritten stay when they are replaced",
        edits=(
            Edit(function=audit._remove_replaced, old="if not data_files:", new="if True:"),
            Edit(function=completeness.prove_removed, old="if remaining:", new="if False:"),
        ),
        seeds_from=21,
    ),
    Mutation(
        says="an attempt's number is used again",
        edits=(
            Edit(function=start._claim, old="use is Use.OTHER or not", new="not"),
            Edit(
                function=start._use_of,
                old="Use.OTHER if claimed_ids.isdisjoint(file.id for file in files) else Use.THESE_FILES",
                new="Use.THESE_FILES",
            ),
            Edit(function=start._agree_on_files, old="attempt.number == 1", new="attempt.number"),
        ),
        seeds_from=554,
    ),
    Mutation(
        says="files that crashed together are rejected together",
        edits=(
            Edit(
                function=rules.job_without_verdicts,
                old="not end.crash.is_last",
                new="len(end.crash.attempts) < end.crash.limit",
            ),
            Edit(function=rules._after, old="if not crash.halves:", new="if True:"),
        ),
        seeds_from=4,
    ),
    Mutation(
        says="crashes with other files count against a file",
        edits=(Edit(function=history.AttemptHistory.crashed_with_others, old="tuple(", new="() and tuple("),),
        seeds_from=4,
    ),
    Mutation(
        says="a job that never came to its files splits them",
        edits=(
            Edit(
                function=rules._after,
                old="if not crash.halves:",
                new="if not (crash.files > 1 and crash.tries > 1):",
            ),
        ),
        seeds_from=4,
    ),
    Mutation(
        says="both halves of a batch that crashed are one attempt",
        edits=(
            Edit(
                function=settle._settle,
                old="    for half in todo.halves:\n        start_attempt(service, attempt.next(), half)",
                new="    _retry(service, attempt, todo.files_to_retry, ())",
            ),
        ),
        seeds_from=4,
    ),
    Mutation(
        says="the branch is deleted before its files are decided",
        edits=(
            Edit(
                function=settle._settle,
                old="    record(service, attempt, Decision.REJECTED",
                new="    service.branches.delete_branch(attempt.branch)\n"
                "    record(service, attempt, Decision.REJECTED",
            ),
        ),
        seeds_from=8,
    ),
    Mutation(
        says="a file is decided whatever main's receipts say",
        edits=(Edit(function=decisions._record, old="if is_open(receipts, finding.file, attempt)", new=""),),
        seeds_from=124,
    ),
    Mutation(
        says="what is published stays on the branch that is kept",
        edits=(
            Edit(function=settle._prune, old="drop_files(service, audited_attempt, files, attempt.branch)", new="pass"),
        ),
        seeds_from=5,
    ),
    Mutation(
        says="a message counts as told before it is sent",
        edits=(
            Edit(
                function=outbox.send,
                old="    try:\n",
                new="    sent = to_json(SentMark(at=service.clock.now())).encode()\n"
                "    service.store.create(SENT_PREFIX + name, sent)\n    try:\n",
            ),
        ),
        seeds_from=3142,
    ),
    Mutation(
        says="receipts are taken off main before they are in the archive",
        edits=(Edit(function=compaction._compact, old="archive(service, receipts)", new="pass"),),
    ),
    Mutation(
        says="versions are taken out of a receipt before they are in the archive",
        edits=(
            Edit(
                function=truncation._truncate,
                old="archive_closed(service, [(receipt, closed_entries) for receipt, _, closed_entries in cuts])",
                new="pass",
            ),
        ),
        seeds_from=37,
    ),
    Mutation(
        says="a version that was taken out of its receipt was never decided",
        edits=(Edit(function=receipts.with_closed, old="if file.key in receipts and", new="if False and"),),
        seeds_from=519,
    ),
    Mutation(
        says="bytes that were uploaded again are not newer than those before them",
        edits=(Edit(function=standing._in_order, old="[*rivals, *_repeat_entries(receipt, rivals)]", new="rivals"),),
        seeds_from=49,
    ),
    Mutation(
        says="bytes that are on main are published once more",
        edits=(
            Edit(
                function=standing.standing_of,
                old="file.content in {entry.content for entry in rivals} - {None}",
                new="False",
            ),
        ),
        seeds_from=23,
    ),
    Mutation(
        says="publish asks not whether another version makes this one a re-upload that is not wanted",
        edits=(
            Edit(function=guards._guard_standing, old="if standing.decision:", new="if False:"),
            Edit(
                function=rules.superseded,
                old="(decision := standing.decision)",
                new="(decision := None)",
            ),
        ),
        seeds_from=2302,
    ),
    Mutation(
        says="a rejection that was noted is told, whatever was decided",
        edits=(
            Edit(
                function=late._send_late,
                old="_as_decided(service, letter)",
                new="letter",
            ),
        ),
        seeds_from=3570,
    ),
    Mutation(
        says="of an attempt's decisions other systems are told of the last one alone",
        edits=(Edit(function=events._addressed_events, old="in reversed(decisions)", new="in decisions[:1]"),),
        seeds_from=22,
    ),
    Mutation(
        says="what a contract observes is rejected",
        edits=(
            Edit(
                function=observation._observe_check, old="_WOULD.get(check.verdict, check.verdict)", new="check.verdict"
            ),
        ),
        seeds_from=20,
    ),
    Mutation(
        says="a branch goes before the notice of its end is over",
        edits=(Edit(function=expiry.expire, old="now >= warning + notice if warning", new="True if warning"),),
        seeds_from=21,
    ),
    Mutation(
        says="a branch that is kept never goes",
        edits=(Edit(function=expiry.expire, old="elif now >= ends and", new="elif False and"),),
    ),
    Mutation(
        says="a file is rejected for a key of one that failed once rows had left it",
        edits=(Edit(function=rules.released_files, old="if file.id in ids and", new="if False and"),),
        seeds_from=178,
    ),
    Mutation(
        says="files whose keys are free are audited apart from those that passed",
        edits=(Edit(function=settle._retry, old="if extra_files else", new="if extra_files and not files else"),),
        seeds_from=12096,
    ),
    Mutation(
        says="a job that never began on its files has crashed",
        edits=(Edit(function=reports.has_begun, old="not in (None, CUT_OFF)", new="!= CUT_OFF"),),
        seeds_from=3,
    ),
    Mutation(
        says="a job that was cut off from its files has crashed",
        edits=(Edit(function=reports.has_begun, old="not in (None, CUT_OFF)", new="is not None"),),
        seeds_from=248,
    ),
    Mutation(
        says="files that are handed over are rejected",
        edits=(Edit(function=rules.settlement, old="in RULES:", new="in RULES[1:]:"),),
        seeds_from=3,
    ),
    Mutation(
        says="files that are handed over wait as after a crash",
        edits=(
            Edit(
                function=rules._settlement,
                old="if retry.due), None)",
                new="if retry.due or facts.end.handed_over), None)",
            ),
        ),
        seeds_from=3,
    ),
    Mutation(
        says="files that were handed over are tried on the express lane again",
        edits=(Edit(function=lane._what_needs_spark, old="if work.handed_over:", new="if False:"),),
        seeds_from=3,
    ),
    Mutation(
        says="an express job that fails has crashed",
        edits=(
            Edit(function=reader.left_to_spark, old="job.lane is not Lane.EXPRESS", new="True"),
            Edit(function=history.attempt_history, old="if job.lane is Lane.EXPRESS and", new="if False and"),
        ),
        seeds_from=3,
    ),
    Mutation(
        says="a job that was frozen for an express lane that is gone waits for it",
        edits=(Edit(function=launch.launch, old="hand_over(service.store, attempt, NO_LANE)", new="pass"),),
        seeds_from=417,
    ),
    Mutation(
        says="the sweep passes over what was handed over without a job",
        edits=(
            Edit(
                function=reports.has_left_something,
                old=", handover_name(attempt), _our_handover_name(attempt)",
                new="",
            ),
        ),
        seeds_from=417,
    ),
    Mutation(
        says="what was found of files that are rejected stays on their branch",
        edits=(Edit(function=rejection._merge, old="if any(arrivals.values()) else None", new="and None"),),
        seeds_from=5,
    ),
    Mutation(
        says="a rejection brings what was found of the whole batch",
        edits=(
            Edit(
                function=rejection.commit_with_audit,
                old="audit.audit_files(files)",
                new="audit.audit_files(audit.claims)",
            ),
        ),
        seeds_from=5,
    ),
    Mutation(
        says="a rebase leaves behind what was found",
        edits=(Edit(function=Audit.paths, old="[] if self.is_recorded else", new="[] and"),),
        seeds_from=5,
    ),
    Mutation(
        says="a table of another's plain name has that one, too",
        edits=(Edit(function=names.needs_distinct_name, old="return owner != table.encode()", new="return False"),),
        seeds_from=12,
    ),
    Mutation(
        says="of two tables that ask for a plain name at once both have it",
        edits=(
            Edit(
                function=names.needs_distinct_name,
                old="    service.store.create(note_name, _owner(service, table, same_names, base).encode())\n"
                "        owner = service.store.read(note_name)",
                new="    owner = _owner(service, table, same_names, base).encode()\n"
                "        service.store.create(note_name, owner)",
            ),
        ),
        seeds_from=76,
    ),
    Mutation(
        says="whom a plain name is for is decided anew with each batch",
        edits=(
            Edit(
                function=names.needs_distinct_name,
                old="(owner := service.store.read(note_name)) is None:\n        service.store.create(",
                new="True:\n        service.store.write(",
            ),
        ),
        seeds_from=44,
    ),
    Mutation(
        says="the sweep looks for no file whose event was lost",
        edits=(Edit(function=reconcile._receive_lost, old="if file.landed_at <= due", new="if False"),),
    ),
    Mutation(
        says="a busy table opens one more batch",
        seeds_from=206,
        edits=(Edit(function=shares.shares, old="and not under_way.of_table(table)", new=""),),
    ),
    Mutation(
        says="a small file of a quiet table waits for company",
        edits=(Edit(function=Company.has_come, old="(is_quiet and first.lane is Lane.EXPRESS)", new="False"),),
        seeds_from=83,
    ),
    Mutation(
        says="files wait for company until their table is quiet",
        edits=(Edit(function=Company.has_come, old="self.now >=", new="is_quiet and self.now >="),),
        seeds_from=146,
    ),
    Mutation(
        says="nobody takes up queued files when a job has ended",
        edits=(Edit(function=receive.gather, old="if not names:", new="if last or not names:"),),
        seeds_from=33,
    ),
)

# Seen over HTTP, too: each leaves out a look at what is there, which an unknown outcome makes necessary.
LOOKS = (
    "the branch is deleted before its files are decided",
    "a file is decided whatever main's receipts say",
)
OVER_HTTP = (
    *(mutation for mutation in MUTATIONS if mutation.says in LOOKS),
    Mutation(
        says="a server's error counts as a conflict with somebody else",
        edits=(
            Edit(
                function=status_error,
                old="if status in (HTTPStatus.CONFLICT,",
                new="if status >= 500 or status in (HTTPStatus.CONFLICT,",
            ),
        ),
        seeds_from=110,
    ),
    Mutation(
        says="Nessie is told to force a merge",
        edits=(
            Edit(
                function=NessieCatalog.merge_text,
                old='"defaultKeyMergeMode": "NORMAL"',
                new='"defaultKeyMergeMode": "FORCE"',
            ),
        ),
        seeds_from=66,
    ),
)
