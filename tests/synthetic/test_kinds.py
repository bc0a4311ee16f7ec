"""Rows can be made up for each kind of metric, and written as each kind of file."""

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.plan import MetricKind
from tests.support.synthetic.files import WRITERS
from tests.support.synthetic.rows import KINDS


def test_every_kind_of_metric_has_its_row() -> None:
    missing = ", ".join(sorted(set(MetricKind) ^ KINDS.keys()))
    assert not missing, f"add to KINDS in tests/support/synthetic/rows.py how rows are made up that fail {missing}"


def test_every_typed_kind_of_file_can_be_written() -> None:
    missing = ", ".join(sorted({kind for kind in FileKind if not kind.is_text} ^ WRITERS.keys()))
    assert not missing, f"add to WRITERS in tests/support/synthetic/files.py how a file is written as {missing}"
