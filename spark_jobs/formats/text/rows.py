"""Rows of staged text files. Files of one layout are parsed together."""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.text.scan import is_positional
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.parsed_files import ParsedFiles
from spark_jobs.formats.text.text_format import Layout


def parse_files(spark: SparkSession, plan: Plan, inspections: Iterable[Inspection]) -> list[ParsedFiles]:
    """Return the rows of these files, in one part per layout; none if their format is not text."""
    text = FORMATS[plan.files.kind].text
    if text is None:
        return []
    layouts: dict[Layout, list[str]] = {}
    for inspection in inspections:
        reads = [column.name for column in inspection.columns]
        names = [name if name in reads else "" for name in inspection.layout] if is_positional(plan.files) else reads
        layouts.setdefault(Layout(names=tuple(names), sound=inspection.sound), []).append(inspection.file.uri)
    return [text.parse(spark, plan, layout, uris) for layout, uris in layouts.items()]
