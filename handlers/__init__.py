"""Lambda functions, one per file: parse the event, call the workflow, answer. No logic lives here."""
