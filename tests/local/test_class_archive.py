from pathlib import Path

import pytest
from lakegate_localstack.class_archive import NAME, ClassArchive

RICH = b"\0org/apache/iceberg/spark/SparkCatalog\0"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    (tmp_path / "java-home/bin").mkdir(parents=True)
    (tmp_path / "java-home/release").write_text('JAVA_VERSION="21"\n')
    return tmp_path / "java-home/bin/java"


@pytest.fixture
def archive(tmp_path: Path, java: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "cache", java, "a.jar", ())


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def drive(archive: ClassArchive, work: Path, made: bytes = RICH) -> tuple[str, ...]:
    """Run a driver that does as its options say, and return them."""
    options = archive.options(work)
    if options == (f"-XX:ArchiveClassesAtExit={work / NAME}",):
        (work / NAME).write_bytes(made)
    archive.keep(work)
    archive.release(work)
    return options


def kinds(options: tuple[str, ...]) -> list[str]:
    return [option.partition("=")[0] for option in options]


def test_second_driver_makes_the_archive_and_the_next_use_it(tmp_path: Path, archive: ClassArchive) -> None:
    asked = [kinds(drive(archive, folder(tmp_path, name))) for name in ("first", "second", "third", "fourth")]

    assert asked == [[], ["-XX:ArchiveClassesAtExit"], ["-XX:SharedArchiveFile"], ["-XX:SharedArchiveFile"]]


def test_next_local_cloud_finds_the_archive(tmp_path: Path, java: Path, archive: ClassArchive) -> None:
    drive(archive, folder(tmp_path, "first"))
    drive(archive, folder(tmp_path, "second"))

    again = ClassArchive(tmp_path / "cache", java, "a.jar", ())

    assert kinds(again.options(tmp_path / "third")) == ["-XX:SharedArchiveFile"]


def test_one_driver_at_a_time_makes_it(tmp_path: Path, archive: ClassArchive) -> None:
    drive(archive, folder(tmp_path, "first"))

    assert kinds(archive.options(tmp_path / "second")) == ["-XX:ArchiveClassesAtExit"]
    assert archive.options(tmp_path / "third") == ()
    archive.release(tmp_path / "third")
    assert archive.options(tmp_path / "fourth") == ()


def test_driver_that_failed_leaves_it_to_another(tmp_path: Path, archive: ClassArchive) -> None:
    drive(archive, folder(tmp_path, "first"))
    failed = folder(tmp_path, "second")
    archive.options(failed)
    (failed / NAME).write_bytes(RICH[:9])

    archive.release(failed)

    assert not (failed / NAME).exists()
    assert kinds(archive.options(tmp_path / "third")) == ["-XX:ArchiveClassesAtExit"]


def test_driver_that_did_little_is_not_learned_from(tmp_path: Path, archive: ClassArchive) -> None:
    drive(archive, folder(tmp_path, "first"))
    drive(archive, folder(tmp_path, "second"), made=b"java/lang/Object")

    assert kinds(archive.options(tmp_path / "third")) == ["-XX:ArchiveClassesAtExit"]


def test_other_jars_need_another_archive_and_the_old_one_goes(
    tmp_path: Path, java: Path, archive: ClassArchive
) -> None:
    for name in ("first", "second"):
        drive(archive, folder(tmp_path, name))
    new = ClassArchive(tmp_path / "cache", java, "b.jar", ())
    for name in ("third", "fourth"):
        drive(new, folder(tmp_path, name))

    assert kinds(new.options(tmp_path / "fifth")) == ["-XX:SharedArchiveFile"]
    assert archive.options(tmp_path / "sixth") != new.options(tmp_path / "sixth")
    assert len(list((tmp_path / "cache").iterdir())) == 1
