"""The express engine: an attempt's append and audit in one Python process, with PyIceberg, Arrow and DuckDB.

It says what Spark would say, or nothing: whatever it cannot do exactly raises `HandedOver`, and an attempt on Spark
takes the files. `plan` says which plans it never takes, and needs none of these packages.
"""
