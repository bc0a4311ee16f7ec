"""The express engine: append and audit in one Python process, with PyIceberg, Arrow and DuckDB.

`engine` is the same for each source: `attempt` is that of the service, and `lakegate.wap` has that of a run without it.

It says what Spark would say, or nothing: whatever it cannot do exactly raises `HandedOver`, and an attempt on Spark
takes the files. `plan` says which plans it never takes, and needs none of these packages.
"""
