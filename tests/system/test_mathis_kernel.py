"""The study of the square-root model, on the kernel."""

import json

from kernel import needs_root


@needs_root
def test_kernel_and_simulator_agree(tcpwhy):
    """Four transfers each of 5 s: their medians are within a factor of 1.6."""
    done = tcpwhy(
        *("study", "mathis", "-C", "reno", "-C", "cubic", "--loss", "0.01", "--seconds", "8"),
        *("--repeats", "6", "--format", "jsonl"),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    by = {(row["place"], row["controller"]): row["measured_bps"] for row in rows}
    for controller in ("reno", "cubic"):
        ratio = by["kernel", controller] / by["simulator", controller]
        assert 1 / 1.6 < ratio < 1.6
