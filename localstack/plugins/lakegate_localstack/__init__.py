"""Plug-ins for LocalStack in host mode. They stand in for AWS, and hold nothing of the product."""
