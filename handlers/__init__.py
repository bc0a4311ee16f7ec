"""Lambda functions, one per file: parse the event, call the workflow, answer. The logic is in the workflow."""
