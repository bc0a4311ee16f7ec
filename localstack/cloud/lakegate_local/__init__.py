"""A local cloud: start it, deploy to it, stop it. The product does not know of it."""
