"""Infrastructure: one CDK stack made of small constructs, and the packaging of the zips that it ships."""
