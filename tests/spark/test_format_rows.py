"""Each kind of file has a format for Spark. It needs no session."""

from lakegate.audit.model.files import FileKind
from spark_jobs.formats.registry import FORMATS


def test_every_kind_of_file_has_its_row() -> None:
    missing = set(FileKind) ^ FORMATS.keys()
    assert not missing, f"add to FORMATS in spark_jobs/formats/registry.py how Spark reads {', '.join(sorted(missing))}"


def test_a_file_says_of_itself_what_it_holds_unless_it_is_text() -> None:
    texts = {kind for kind in FileKind if kind.is_text}
    assert {kind for kind, form in FORMATS.items() if form.read is None} == texts
    assert {kind for kind, form in FORMATS.items() if form.text} == texts
