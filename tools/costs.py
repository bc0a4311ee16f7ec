"""Tables of docs/explanation/costs.md, reckoned from the prices in prices.json. `make reference` writes them.

What an installation uses is here: its alarms and metrics as the templates have them, which a test compares, and the
requests of an express batch as the local cloud's record of calls has them.
"""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs/explanation/costs.md"
LIST = json.loads((FOLDER / "prices.json").read_text())
USD = {name: price["usd"] for name, price in LIST["prices"].items()}
HOURS = 730  # of a month
ALARM_METRICS, SIGNALS = 30, 19  # with a catalog stack and the express lane, without a canary
SWEEPS, SWEEP_SECONDS, SWEEP_LISTS, GB, LOG_GB = 8640, 4, 12, 1.73, 1
WRITES, READS, GB_SECONDS, CALLS, QUEUE_REQUESTS = 23, 35, 1.9, 3, 3  # of an express batch
VCPUS, MEMORY, DISK = 4, 16, 110  # of a small job's two workers; disk that is not free
JOB_SECONDS, LEAST_SECONDS = 150, 60
MOST_VCPUS, MOST_DISK = 16, 540


def dollars(amount: float, digits: int = 0) -> str:
    return f"${amount + 1e-9:,.{digits}f}"  # a half is rounded up


def month() -> str:
    sweep = SWEEP_SECONDS * GB * USD["function_memory"] + SWEEP_LISTS * USD["write"] + USD["function_call"]
    dev, prod = _nessie("dev", tasks=1), _nessie("prod", tasks=2)
    nat = HOURS * (USD["nat_gateway"] + USD["public_address"])
    rows = [
        ("sweeps every five minutes, other calls of functions, logs", *[SWEEPS * sweep + LOG_GB * USD["log"]] * 2),
        (f"alarms: {ALARM_METRICS} metrics at {dollars(USD['alarm'], 2)}", *[ALARM_METRICS * USD["alarm"]] * 2),
        (
            f"[metrics](../reference/metrics.md): {SIGNALS} at {dollars(USD['metric'], 2)}",
            *[SIGNALS * USD["metric"]] * 2,
        ),
        ("dashboard, if the account has three others already", *[USD["dashboard"]] * 2),
        ('NAT gateways with their addresses, with `network.vpc = "create"`, one a zone, without traffic', nat, 2 * nat),
        ("Nessie with its load balancer and database ([Sizes](../how-to/catalog.md#sizes))", dev, prod),
    ]
    sums = [sum(row[column] for row in rows) for column in (1, 2)]
    lines = [f"| {text} | {dollars(first)} | {dollars(second)} |" for text, first, second in rows]
    total = " | ".join(f"**about {dollars(amount)}**" for amount in sums)
    return "\n".join(["| | `dev` | `prod` |", "|---|---|---|", *lines, f"| **together** | {total} |"])


def _nessie(size: str, *, tasks: int) -> float:
    task = USD["fargate_vcpu"] + 2 * USD["fargate_memory"]
    balancer = USD["load_balancer"] + USD["load_balancer_capacity"] / 4
    database = HOURS * USD[f"database_{size}"] + 20 * USD[f"database_disk_{size}"]
    return float(HOURS * (tasks * task + balancer) + database + USD["secret"] + USD["zone"])


def express() -> str:
    rows = [
        (f"S3: {WRITES} requests that write or list", WRITES * USD["write"]),
        (f"S3: {READS} requests that read", READS * USD["read"]),
        ("functions, warm", GB_SECONDS * USD["function_memory"]),
        ("calls of functions and of queues", CALLS * USD["function_call"] + QUEUE_REQUESTS * USD["queue_request"]),
    ]
    total = sum(amount for _, amount in rows)
    lines = [f"| {text} | {dollars(amount, 6)} |" for text, amount in rows]
    head = ["| of an express batch | price |", "|---|---|"]
    end = f"| **together**; {dollars(100_000 * total)} for 100,000 | **{dollars(total, 5)}** |"
    return "\n".join([*head, *lines, end])


def spark() -> str:
    parts = [
        ("vCPU", f"${USD['emr_vcpu']} an hour", f"{VCPUS}", VCPUS * USD["emr_vcpu"]),
        ("memory", f"${USD['emr_memory']} a GB and hour", f"{MEMORY} GB", MEMORY * USD["emr_memory"]),
        ("disk", f"${USD['emr_disk']} a GB and hour", f"{DISK} GB that are not free", DISK * USD["emr_disk"]),
    ]
    hour = sum(part[3] for part in parts)
    lines = [f"| {name} | {price} | {size} | {dollars(amount, 3)} |" for name, price, size, amount in parts]
    least, small = (dollars(hour * seconds / 3600, 3) for seconds in (LEAST_SECONDS, JOB_SECONDS))
    head = ["| | price | a small job's two workers have | an hour |", "|---|---|---|---|"]
    total = [f"| | | | **{dollars(hour, 3)}** |", "", f"A small job of two and a half minutes costs **{small}**, and"]
    return "\n".join([*head, *lines, *total]) + f" the shortest one {least}."


def most() -> str:
    small = 2 * (VCPUS * USD["emr_vcpu"] + MEMORY * USD["emr_memory"] + DISK * USD["emr_disk"])
    large = MOST_VCPUS * (USD["emr_vcpu"] + 4 * USD["emr_memory"]) + MOST_DISK * USD["emr_disk"]
    rows = [
        ("two small ones (`spark.jobs_at_once = 2`, the default)", small),
        ("large ones with 16 vCPUs together (`spark.vcpus = 16`, the default) and disks", large),
    ]
    lines = [f"| {text} | {dollars(hour, 2)} | about {dollars(HOURS * hour)} |" for text, hour in rows]
    return "\n".join(["| jobs run all the time | an hour | a month |", "|---|---|---|", *lines])


def page(text: str) -> str:
    """Return the page with each part between its marks written anew."""
    for part in (month, express, spark, most):
        mark = f"<!-- tools/costs.py: {part.__name__} -->"
        text = re.sub(f"{mark}\n.*?\n<!-- end -->", f"{mark}\n\n{part()}\n\n<!-- end -->", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
