"""Models against measurements: errors where they hold, and constants found again."""

import json
import math

import duckdb
import pytest

from tcpwhy import UsageError, model
from tcpwhy.model import fitting

LOSSES = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]


def measured(name, factor=1.0, **path):
    """What a model predicts for every loss, times a factor."""
    return [factor * model.predict(name, loss=loss, **path) for loss in LOSSES]


def constants(found):
    return {(one.model, one.name): one for one in found}


def test_a_model_has_no_errors_on_what_it_predicted():
    rates = measured("cubic", rtt_ns=1e8)
    [cubic] = fitting.validate(["cubic"], throughput_bps=rates, loss=LOSSES, rtt_ns=1e8)
    assert (cubic.rows, cubic.ratio, cubic.near) == (5, pytest.approx(1), 1)
    assert cubic.rms_log_error == pytest.approx(0, abs=1e-9)
    assert not cubic.left_out


def test_errors_have_a_size():
    rates = measured("mathis", factor=1.5, rtt_ns=1e8)
    [mathis] = fitting.validate(["mathis"], throughput_bps=rates, loss=LOSSES, rtt_ns=1e8)
    assert (mathis.ratio, mathis.near) == (pytest.approx(1.5), 0)
    assert mathis.rms_log_error == pytest.approx(math.log(1.5))


def test_constants_are_found_again():
    rates = measured("mathis", factor=0.93 / math.sqrt(1.5), rtt_ns=1e8)
    found = constants(fitting.fit(["mathis"], throughput_bps=rates, loss=LOSSES, rtt_ns=1e8))
    c = found["mathis", "c"]
    assert (c.value, c.low, c.high) == pytest.approx((0.93, 0.93, 0.93))
    assert c.usual == pytest.approx(math.sqrt(1.5))
    assert found["mathis", "scale"].value == pytest.approx(0.93 / math.sqrt(1.5))
    exponent = found["mathis", "loss_exponent"]
    assert (exponent.value, exponent.usual) == pytest.approx((-0.5, -0.5))


def test_what_does_not_depend_on_a_constant_does_not_tell_it():
    """CUBIC's C shows over long paths; over short ones it is as friendly as Reno."""
    rates = measured("cubic", rtt_ns=3e8, c=0.9)
    rates += measured("cubic", rtt_ns=1e7, c=0.9)
    rtts = [3e8] * 5 + [1e7] * 5
    found = fitting.fit(["cubic"], throughput_bps=rates, loss=LOSSES * 2, rtt_ns=rtts)
    c = constants(found)["cubic", "c"]
    assert c.value == pytest.approx(0.9, rel=1e-6)
    assert c.usual == pytest.approx(0.4)
    assert 2 <= c.rows < 10


def test_noise_widens_the_interval_and_it_holds_the_truth():
    noise = [1.2, 0.8, 1.1, 0.9, 1.05] * 8
    rates = [x * y for x, y in zip(measured("mathis", rtt_ns=1e8) * 8, noise, strict=True)]
    found = fitting.fit(["mathis"], throughput_bps=rates, loss=LOSSES * 8, rtt_ns=1e8)
    scale = constants(found)["mathis", "scale"]
    assert 0.85 < scale.low <= 1.05 <= scale.high < 1.15
    assert scale.low < scale.high


@pytest.mark.parametrize(
    ("known", "doubt"),
    [
        ({"loss": 0.05}, "above 2 % of loss, timeouts count: see pftk"),
        ({"loss": 0.0}, "loss must lie between 0 and 1"),
        ({"loss": None}, "loss is not known"),
        ({"window_bytes": 65_535}, "the window holds it back"),
        ({"capacity_bps": 5e6}, "the link is full"),
        ({"rtt_min_ns": 5e7}, "the RTT grows with the window"),
        ({"controller": "bbr1"}, "the controller is not reno"),
        ({"throughput_bps": None}, "the throughput is not known"),
    ],
)
def test_conditions_that_do_not_hold_are_named(known, doubt):
    row = {"throughput_bps": 5e6, "rtt_ns": 1e8, "loss": 0.001} | known
    [error] = fitting.errors(["mathis"], **{name: [value] for name, value in row.items()})
    assert error.doubt == doubt
    [summary] = fitting.summaries([error])
    assert (summary.rows, summary.ratio, dict(summary.left_out)) == (0, None, {doubt: 1})


def test_columns_are_arrays_of_any_kind():
    numpy, pyarrow = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    rates = measured("pftk", rtt_ns=1e8)
    expected = fitting.validate(["pftk"], throughput_bps=rates, loss=LOSSES, rtt_ns=1e8)
    for kind in (numpy.array, pyarrow.array):
        found = fitting.validate(
            ["pftk"], throughput_bps=kind(rates), loss=kind(LOSSES), rtt_ns=1e8
        )
        assert found == expected


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(UsageError, match="throughput_bps"):
        fitting.validate(rtt_ns=[1e8], loss=[0.01])
    with pytest.raises(UsageError, match="different lengths"):
        fitting.validate(throughput_bps=[1e6], rtt_ns=[1e8, 1e8], loss=0.01)
    with pytest.raises(UsageError, match="needs loss"):
        fitting.validate(["mathis"], throughput_bps=[1e6], rtt_ns=[1e8])
    with pytest.raises(UsageError, match="no model has"):
        fitting.fit(throughput_bps=[1e6])
    with pytest.raises(UsageError, match="no model knows rtt_ms"):
        fitting.fit(throughput_bps=[1e6], rtt_ms=[100])


@pytest.fixture
def table(tmp_path):
    """Transfers of Reno at three quarters of the model, one of them at too much loss."""
    path = tmp_path / "transfers.csv"
    rates = measured("mathis", factor=0.75, rtt_ns=1e8)
    lines = [f"{r},{loss},100000000,reno" for r, loss in zip(rates, LOSSES, strict=True)]
    lines.append("500000,0.1,100000000,reno")
    path.write_text("\n".join(["throughput_bps,loss,rtt_ns,controller", *lines]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "stdin"])
def test_a_table_is_read_from_csv_parquet_and_a_pipe(tcpwhy, table, kind):
    source, text = table, None
    if kind == "parquet":
        source = table.with_suffix(".parquet")
        duckdb.execute(f"COPY (FROM '{table}') TO '{source}'")
    elif kind == "stdin":
        source, text = "-", table.read_text()
    done = tcpwhy("model", "fit", source, "-m", "mathis", "--format", "jsonl", input=text)
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert found["scale"]["value"] == pytest.approx(0.75)
    assert found["scale"]["rows"] == 5


def test_the_summary_names_what_does_not_hold(tcpwhy, table):
    done = tcpwhy("model", "validate", table)
    assert done.returncode == 0, done.stderr
    assert "mathis does not hold: above 2 % of loss, timeouts count: see pftk (1 of 6)" in (
        done.stdout
    )
    assert "cubic does not hold: the controller is not cubic (5 of 6)" in done.stdout
    rows = tcpwhy("model", "validate", table, "--rows", "-m", "mathis", "--format", "csv")
    assert rows.stdout.splitlines()[0] == "row,model,throughput_bps,predicted_bps,ratio,doubt"
    assert len(rows.stdout.splitlines()) == 7


def test_a_table_that_cannot_be_read_is_an_input_error(tcpwhy, tmp_path):
    done = tcpwhy("model", "fit", tmp_path / "none.csv")
    assert done.returncode == 3
    assert "none.csv" in done.stderr
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n")
    done = tcpwhy("model", "fit", wrong)
    assert done.returncode == 2
    assert "throughput_bps" in done.stderr
    assert "not used: a, b" in done.stderr
