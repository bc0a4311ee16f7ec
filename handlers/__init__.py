"""The Lambda functions, one a file: parse the event, call the workflow, answer. No logic lives here."""
