"""The local cloud, started, deployed to and stopped. The product itself knows nothing of it."""
