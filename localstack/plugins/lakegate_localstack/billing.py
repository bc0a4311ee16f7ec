"""The bill of a job run on EMR Serverless: its workers' vCPUs, memory and disk for as long as it ran.

The only worker here is the driver, so the executors are those that the run's properties begin with. A run bills a
minute at least, and of a worker's disk what is above 20 GB.
"""

import math
import re
from collections.abc import Mapping

FREE_DISK, LEAST_SECONDS, OVERHEAD = 20, 60, 1.1  # Spark's overhead is a tenth of Java's heap
DEFAULTS = {"cores": "4", "memory": "14g", "disk": "20G"}  # EMR's own
INSTANCES = "spark.executor.instances", "3"


def billed(properties: Mapping[str, str], seconds: float) -> dict[str, float]:
    """Return `billedResourceUtilization` of a run with these Spark properties."""
    hours = max(seconds, LEAST_SECONDS) / 3600
    workers = [_worker(properties, "driver")]
    workers += [_worker(properties, "executor")] * int(properties.get(*INSTANCES))
    cores, memory, disk = (sum(sizes) * hours for sizes in zip(*workers, strict=True))
    return {"vCPUHour": round(cores, 3), "memoryGBHour": round(memory, 3), "storageGBHour": round(disk, 3)}


def _worker(properties: Mapping[str, str], what: str) -> tuple[int, int, int]:
    """Return a worker's vCPUs, GB of memory, and GB of disk that are billed."""
    names = {
        "cores": f"spark.{what}.cores",
        "memory": f"spark.{what}.memory",
        "disk": f"spark.emr-serverless.{what}.disk",
    }
    cores, memory, disk = (_number(properties.get(names[size], DEFAULTS[size])) for size in DEFAULTS)
    return cores, math.ceil(memory * OVERHEAD), max(0, disk - FREE_DISK)


def _number(text: str) -> int:
    """Return the whole number that a size begins with; the unit is GB wherever there is one."""
    found = re.match(r"\d+", text)
    return int(found[0]) if found else 0
