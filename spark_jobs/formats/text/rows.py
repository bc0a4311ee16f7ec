"""Rows of staged text files. Files of one layout are parsed together."""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from lakegate.audit.look import Look
from lakegate.audit.plan import Plan
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.parsed import Parsed
from spark_jobs.formats.text.text_format import Layout


def parsed(spark: SparkSession, plan: Plan, looks: Iterable[Look]) -> list[Parsed]:
    """Return the rows of these files, in one part per layout."""
    text = FORMATS[plan.files.kind].text
    if text is None:
        raise ValueError(f"{plan.files.kind} is no text format")
    layouts: dict[Layout, list[str]] = {}
    for look in looks:
        reads = [column.name for column in look.columns]
        names = [name if name in reads else "" for name in look.layout] if text.is_positional else reads
        layouts.setdefault(Layout(names=tuple(names), sound=look.sound), []).append(look.file.uri)
    return [text.parse(spark, plan, layout, uris) for layout, uris in layouts.items()]
