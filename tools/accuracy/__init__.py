"""How often the diagnosis is right, measured against truths that it cannot see.

Scenarios of the simulator bear their truth in `[expect]` and in the simulator's own record of what
held the sender back; captures of other people bear it in their names and labels. `python -m
accuracy` runs them all and writes `docs/accuracy.md`.
"""
