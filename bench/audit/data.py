"""Rows to measure with: eight parquet files a set, made once by Spark, the same on every machine.

A hash of the row's number gives every value. Keys are spread over all files. Columns of text have a few values,
thousands, or a different one in each row.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

FILES = 8
ZONES, DRIVERS = 265, 50_000


def _pick(salt: int, size: int) -> str:
    """Return SQL for a number below `size`, which depends on the row's number."""
    return f"pmod(xxhash64(id, {salt}), {size})"


def _one_of(salt: int, *values: str) -> str:
    return (
        f"element_at(array({', '.join(repr(value) for value in values)}), cast({_pick(salt, len(values))} as int) + 1)"
    )


def _money(salt: int, most: int) -> str:
    return f"{_pick(salt, most * 100)} / 100.0D"


_BOROUGHS = ("Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island", "EWR")
_PICKUP = f"timestamp_seconds(1704067200 + {_pick(1, 31_536_000)})"
NUMERIC = {
    "trip_id": "id",
    "vendor_id": f"cast(1 + {_pick(2, 4)} as int)",
    "driver_id": f"cast({_pick(3, DRIVERS)} as int)",
    "pickup_at": _PICKUP,
    "dropoff_at": f"timestamp_seconds(1704067200 + {_pick(1, 31_536_000)} + {_pick(4, 5_400)})",
    "passenger_count": f"cast({_pick(5, 7)} as int)",
    "trip_distance": _money(6, 40),
    "rate_code": f"cast(1 + {_pick(7, 6)} as int)",
    "store_and_fwd": f"if({_pick(8, 100)} < 2, 'Y', 'N')",
    "pu_location": f"cast(1 + {_pick(9, ZONES)} as int)",
    "do_location": f"cast(1 + {_pick(10, ZONES)} as int)",
    "payment_type": f"cast(1 + {_pick(11, 5)} as int)",
    "fare": _money(12, 120),
    "extra": f"{_pick(13, 8)} / 2.0D",
    "tip": _money(14, 30),
    "tolls": f"if({_pick(15, 20)} = 0, 6.94D, 0D)",
    "surcharge": "1.0D",
    "total": f"{_pick(12, 12_000)} / 100.0D + {_pick(14, 3_000)} / 100.0D + 1.0D",
    "congestion": f"if({_pick(16, 10)} < 7, 2.5D, 0D)",
}
# One row in five hundred fails each of these five rules, so one in a hundred fails any.
FAULTS = {
    "passenger_count": "cast(null as int)",
    "trip_distance": "-1.0D",
    "store_and_fwd": "'X'",
    "fare": "1000000.0D",
    "total": "cast(null as double)",
}
DIRTY = NUMERIC | {
    name: f"if({_pick(17, 500)} = {number}, {fault}, {NUMERIC[name]})"
    for number, (name, fault) in enumerate(FAULTS.items())
}
_HEX = "md5(cast(id as string))"
_ZONE = "concat_ws(' ', {}, 'zone', cast({} as string))"
STRINGS = {
    "trip": f"regexp_replace({_HEX}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})$', '$1-$2-$3-$4-$5')",
    "medallion": f"concat({_pick(1, 10)}, char(65 + {_pick(2, 26)}), lpad({_pick(3, 100)}, 2, '0'))",
    "plate": f"concat('T', lpad({_pick(4, 100_000)}, 6, '0'), 'C')",
    "driver_email": f"concat('driver.', {_pick(5, DRIVERS)}, '@taxi', {_pick(5, 7)}, '.example.com')",
    "rider_phone": f"concat_ws('-', '+1', {_pick(6, 700)} + 200, {_pick(7, 800)} + 200, 1000 + {_pick(8, 9_000)})",
    "device_ip": f"concat_ws('.', {_pick(9, 256)}, {_pick(10, 256)}, {_pick(11, 256)}, {_pick(12, 256)})",
    "pickup_zone": _ZONE.format(_one_of(13, "Upper", "Lower", "East", "West"), _pick(14, ZONES)),
    "dropoff_zone": _ZONE.format(_one_of(15, "Upper", "Lower", "East", "West"), _pick(16, ZONES)),
    "pickup_borough": _one_of(17, *_BOROUGHS),
    "dropoff_borough": _one_of(18, *_BOROUGHS),
    "payment": _one_of(19, "card", "cash", "dispute", "no charge", "app"),
    "currency": _one_of(20, "USD", "EUR", "CAD"),
    "status": _one_of(21, "done", "cancelled", "refunded"),
    "locale": _one_of(22, "en-US", "es-US", "fr-CA", "de-DE", "zh-CN"),
    "app_version": f"concat_ws('.', {_pick(23, 5)}, {_pick(24, 12)}, {_pick(25, 20)})",
    "pickup_date": f"date_format({_PICKUP}, 'yyyy-MM-dd')",
    "token": "md5(cast(id + 1000000007 as string))",
    "promo_code": f"if({_pick(26, 5)} = 0, concat('TAXI', lpad({_pick(27, 10_000)}, 4, '0')), 'NOPROMO')",
    "note": f"if({_pick(28, 2)} = 0, concat('left at ', {_pick(29, 1_000_000)}, ' by zone ', {_pick(30, 9_999)}), '')",
}
SETS = {"numeric": NUMERIC, "dirty": DIRTY, "keys": NUMERIC, "strings": STRINGS}


def folder(cache: Path, name: str, rows: int) -> Path:
    """Return the folder of a set's files, `<file id>.parquet`."""
    kind = "numeric" if SETS[name] is NUMERIC else name
    return cache / f"{kind}-{rows}"


def make(spark: SparkSession, cache: Path, name: str, rows: int) -> Path:
    """Make the files of a set, unless they exist, and return their folder."""
    place = folder(cache, name, rows)
    if not (place / "_SUCCESS").exists():
        partial = place.with_suffix(".partial")
        _rows(spark, SETS[name], rows).write.mode("overwrite").parquet(str(partial))
        for number, part in enumerate(sorted(partial.glob("part-*.parquet"))):
            part.rename(partial / f"file{number}.parquet")
        partial.rename(place)
    return place


def _rows(spark: SparkSession, columns: dict[str, str], rows: int) -> DataFrame:
    """Return the rows. Row numbers go round the files, so that each file's keys lie among all others'."""
    numbers = spark.range(0, rows, 1, FILES).selectExpr(f"(id * 7 + 3) % {rows} as id" if rows % 7 else "id")
    return numbers.selectExpr(*(f"{sql} as {name}" for name, sql in columns.items()))


def zones(spark: SparkSession) -> DataFrame:
    return spark.range(1, ZONES + 1).selectExpr("cast(id as int) as id", "concat('zone ', id) as name")


def drivers(spark: SparkSession) -> DataFrame:
    return spark.range(0, DRIVERS).selectExpr("cast(id as int) as id", "concat('driver ', id) as name")
