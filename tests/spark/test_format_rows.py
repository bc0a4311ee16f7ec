"""Each kind of file has its row in every table of formats. It needs no session."""

from lakegate.audit.model.files import FileKind
from lakegate.audit.schema.kinds import MAGIC, NAMES
from lakegate.inference.contract import READERS
from spark_jobs.formats.registry import FORMATS


def test_every_kind_of_file_has_its_row() -> None:
    missing = set(FileKind) ^ FORMATS.keys()
    assert not missing, f"add to FORMATS in spark_jobs/formats/registry.py how Spark reads {', '.join(sorted(missing))}"


def test_a_file_says_of_itself_what_it_holds_unless_it_is_text() -> None:
    texts = {kind for kind in FileKind if kind.is_text}
    assert {kind for kind, form in FORMATS.items() if form.read is None} == texts
    assert {kind for kind, form in FORMATS.items() if form.text} == texts


def test_every_kind_of_file_has_its_name_and_its_first_bytes_unless_it_is_text() -> None:
    typed = {kind for kind in FileKind if not kind.is_text}
    missing = {*(set(FileKind) ^ NAMES.keys()), *(typed ^ set(MAGIC.values()))}
    assert not missing, f"add to NAMES and MAGIC in lakegate/audit/schema/kinds.py {', '.join(sorted(missing))}"


def test_samples_of_every_kind_of_file_with_types_are_read() -> None:
    missing = {kind for kind in FileKind if not kind.is_text} ^ READERS.keys()
    assert not missing, f"add to READERS in lakegate/inference/contract.py how samples are read: {missing}"
