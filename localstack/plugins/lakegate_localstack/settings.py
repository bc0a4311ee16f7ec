"""Settings of the pack, which the local cloud passes in variables. Only this module reads the environment here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PREFIX = "LAKEGATE_LOCALSTACK_"


@dataclass(frozen=True, kw_only=True)
class PackSettings:
    """Interpreters, jars and folders for the processes, and the address of the account's issuer. The folders `jobs` and
    `cache`, and the record of `calls`, outlive a local cloud.
    """

    work: Path
    jobs: Path
    cache: Path
    calls: Path
    function_python: Path
    spark_home: Path
    spark_python: Path
    java_home: Path
    image_jars: tuple[Path, ...]
    issuer: str
    driver_memory: str = "1g"
    parallel_jobs: int = 2
    minute: float = 60.0

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Self:
        values = os.environ if env is None else env
        return cls(
            work=Path(values[PREFIX + "WORK"]),
            jobs=Path(values[PREFIX + "JOBS"]),
            cache=Path(values[PREFIX + "CACHE"]),
            calls=Path(values[PREFIX + "CALLS"]),
            function_python=Path(values[PREFIX + "FUNCTION_PYTHON"]),
            spark_home=Path(values[PREFIX + "SPARK_HOME"]),
            spark_python=Path(values[PREFIX + "SPARK_PYTHON"]),
            java_home=Path(values[PREFIX + "JAVA_HOME"]),
            image_jars=tuple(Path(jar) for jar in values[PREFIX + "IMAGE_JARS"].split(os.pathsep)),
            issuer=values[PREFIX + "ISSUER"],
            driver_memory=values.get(PREFIX + "DRIVER_MEMORY", cls.driver_memory),
            parallel_jobs=int(values.get(PREFIX + "PARALLEL_JOBS", cls.parallel_jobs)),
            minute=float(values.get(PREFIX + "MINUTE", cls.minute)),
        )
