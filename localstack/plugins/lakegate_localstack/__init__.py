"""Plug-ins for LocalStack in host mode. They stand in for AWS's machines, not for the product."""
