"""An active test: what a path carries, and what keeps it from carrying more."""
