"""The kernel's clocks and the emulator's log against scenarios whose limit is known."""

import re

import pytest
from kernel import needs_root

from kernel_worlds import judged, record
from tcpwhy.lab import run as lab
from tcpwhy.lab import scenario
from tcpwhy.simulation import find

CASES = {
    "rwnd_clamp": "receiver_window",
    "paced_socket": "application",
    "bottleneck_cubic": "unshared_bottleneck",
    "policer_reno": "policer",
}
SECONDS = 12
TRIES = 3
"""A run in which the emulator was late shows another path than the scenario's."""


@needs_root
@pytest.mark.parametrize("name", CASES)
def test_what_is_true_of_a_recording_is_what_its_scenario_made(name, tmp_path):
    file = tmp_path / f"{name}.toml"
    text = find(name).read_text()
    file.write_text(re.sub(r"^duration_s = .*$", f"duration_s = {SECONDS}", text, flags=re.M))
    world = scenario.load(file)
    for _ in range(TRIES):
        with record.undisturbed():
            run = lab.run(world, tmp_path / "run", sample_s=record.SAMPLE_S)
        if not run.problems:
            break
    assert not run.problems
    rows = [row for row in judged.judged(world, run.folder) if row["true_limitations"]]
    assert {row["tap"] for row in rows} >= {"sender", "receiver"}
    right = [CASES[name] in row["true_limitations"].split() for row in rows]
    assert sum(right) >= 0.8 * len(right), [row["true_limitations"] for row in rows]
