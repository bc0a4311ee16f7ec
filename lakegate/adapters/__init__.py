"""Ports on real services, one module each. Vendors' words and errors end here; decisions are the workflow's."""
