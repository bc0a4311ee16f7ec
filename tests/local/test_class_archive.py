import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lakegate_localstack.class_archive import ClassArchive

# Makes what `java -Xshare:dump` would make, where it would, and counts how often it was asked.
JAVA = """#!/bin/sh
echo made >> "$0.calls"
for word in "$@"; do
    case "$word" in -XX:SharedArchiveFile=*) echo archive > "${word#*=}" ;; esac
done
"""


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java-home/bin/java"
    path.parent.mkdir(parents=True)
    path.write_text(JAVA)
    path.chmod(0o755)
    (tmp_path / "java-home/release").write_text('JAVA_VERSION="21"\n')
    return path


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "run/classes.txt"
    path.parent.mkdir()
    path.write_text("java/lang/Object\norg/apache/iceberg/Table\n")
    return path


def test_first_driver_makes_the_archive_and_the_next_uses_it(
    tmp_path: Path, java: Path, classes: Path, until: Callable[..., Any]
) -> None:
    archive = ClassArchive(tmp_path / "cache", java, "a.jar", ())

    before = archive.option(classes)
    archive.learn(classes)
    archive.learn(classes)

    assert before == f"-XX:DumpLoadedClassList={classes}"
    until(lambda: archive.option(classes).startswith("-XX:SharedArchiveFile="))
    assert Path(f"{java}.calls").read_text() == "made\n"


def test_driver_that_did_little_is_not_learned_from(tmp_path: Path, java: Path, classes: Path) -> None:
    classes.write_text("java/lang/Object\n")
    archive = ClassArchive(tmp_path / "cache", java, "a.jar", ())

    archive.learn(classes)

    assert not Path(f"{java}.calls").exists()


def test_other_jars_need_another_archive_and_the_old_one_goes(
    tmp_path: Path, java: Path, classes: Path, until: Callable[..., Any]
) -> None:
    old = ClassArchive(tmp_path / "cache", java, "a.jar", ())
    old.learn(classes)
    until(lambda: "SharedArchiveFile" in old.option(classes))
    new = ClassArchive(tmp_path / "cache", java, "b.jar", ())

    assert "DumpLoadedClassList" in new.option(classes)
    new.learn(classes)

    until(lambda: "SharedArchiveFile" in new.option(classes) and "DumpLoadedClassList" in old.option(classes))


def test_dump_that_failed_is_logged_and_tried_again(
    tmp_path: Path, java: Path, classes: Path, until: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    archive = ClassArchive(tmp_path / "cache", java, "a.jar", ())
    java.write_text("#!/bin/sh\nexit 3\n")
    archive.learn(classes)
    until(lambda: "exit code 3" in caplog.text)
    java.write_text(JAVA)

    def is_made() -> bool:
        archive.learn(classes)
        return archive.option(classes).startswith("-XX:SharedArchiveFile=")

    until(is_made)


def test_archive_that_another_local_cloud_is_making_is_let_alone(
    tmp_path: Path, java: Path, classes: Path, until: Callable[..., Any]
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    others, abandoned = cache / "spark-0123.00run", cache / "spark-0123.00old"
    for path in (others, abandoned):
        path.touch()
    os.utime(abandoned, (0, 0))
    archive = ClassArchive(cache, java, "a.jar", ())

    archive.learn(classes)

    until(lambda: not abandoned.exists())
    assert others.exists()
