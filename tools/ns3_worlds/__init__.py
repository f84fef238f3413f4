"""Worlds in ns-3: another simulator, and another TCP, than those that teach."""
