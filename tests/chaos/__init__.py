"""Breaking the real local cloud: `make chaos` drops a year of flights and breaks something at a point of each month."""
