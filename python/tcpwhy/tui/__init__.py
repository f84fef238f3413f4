"""A run on a terminal while it lasts: top flows, their limits over time, rates, losses."""
