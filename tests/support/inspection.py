"""Bytes as staged files, and their inspection by the job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import DEFAULTS, Limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection, fit_all
from spark_jobs.formats.inspection import inspect_all
from tests.support.plans import plan

PLAN = plan("nyc.t", {"id": "int", "name": "string"})


def by(kind: FileKind, of: Plan = PLAN, limits: Limits = DEFAULTS) -> Plan:
    return replace(of, files=FileFormat(kind=kind, limits=limits))


def staged(folder: Path, plan: Plan, *bodies: bytes) -> list[JobFile]:
    paths = [folder / f"{number:020}{plan.files.suffix('')}" for number in range(len(bodies))]
    for path, body in zip(paths, bodies, strict=True):
        path.write_bytes(body)
    return [JobFile(id=it.name[:20], key="landed", uri=f"file:{it}", size=it.stat().st_size) for it in paths]


def inspections(spark: SparkSession, folder: Path, plan: Plan, *bodies: bytes) -> list[Inspection]:
    return fit_all(plan, None, inspect_all(spark, plan, staged(folder, plan, *bodies)))[1]
