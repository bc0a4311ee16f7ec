"""Names and texts that a vendor may give a file to do harm, by size. It knows nothing of who reads them."""

PATTERNS_AND_KEYS = {
    "many stars": ("shop/*_*_*_*.parquet", lambda size: "shop/" + "_" * size + ".csv"),
    "many stars, and the right end": ("shop/*_*_*_*x.parquet", lambda size: "shop/" + "_" * size + ".parquet"),
    "many folders": ("**/**/**/**/**.csv", lambda size: "/" * size),
    "many folders, and the right end": ("**/**/**/**/**a.csv", lambda size: "/" * size + ".csv"),
    "many folders of stars": ("*/*/*/**/**/*/**b", lambda size: "a/" * size),
    "both kinds of stars": ("**a*a**a*a**b", lambda size: "a" * size + "b"),
    "nearly only stars": ("*a" * 500 + "*b*", lambda size: "a" * size),
}
