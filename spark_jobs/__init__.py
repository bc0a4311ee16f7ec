"""The Spark jobs: standard library, pyspark and lakegate.audit alone, because they arrive in a zip."""
