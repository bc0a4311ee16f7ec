"""Command line: words for people and scripts. It calls the workflow and prints; it decides nothing."""
