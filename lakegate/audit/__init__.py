"""The audit: plan, job, metrics, verdicts, report. Standard library only, because Spark imports it from a zip."""
