"""The infrastructure: one CDK stack made of small constructs, and the packaging of what it ships."""
