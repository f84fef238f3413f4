"""Throughput models, from Python and from the command line."""

import csv
import io
import json
import math

import pytest

from tcpwhy import UsageError, model

pyarrow = pytest.importorskip("pyarrow")
numpy = pytest.importorskip("numpy")


def test_a_number_gives_a_number():
    assert model.predict("window", window_bytes=65_535, rtt_ns=100e6) == 5_242_800
    assert model.predict("slow-start", size_bytes=14_480, rtt_ns=100e6) == 14_480 * 8 / 0.1


def test_outside_the_domain_is_none_with_a_reason():
    for loss in (0, 1, -1, None, math.nan):
        assert model.predict("mathis", rtt_ns=1e8, loss=loss) is None
    assert model.explain("mathis", rtt_ns=1e8, loss=0).reason == "loss must lie between 0 and 1"
    assert model.explain("mathis", rtt_ns=1e8, loss=None).reason == "loss is not known"
    assert "20 %" in model.explain("bbr", bottleneck_bps=1e7, rtt_min_ns=1e7, loss=0.2).reason


LOSSES = [1e-4, None, 1e-2, 0.0]


@pytest.mark.parametrize("kind", [pyarrow.array, list, "numpy", "chunked", "slice", "polars"])
def test_a_column_gives_a_column_of_its_kind(kind):
    expected = [model.predict("cubic", rtt_ns=5e7, loss=loss) for loss in LOSSES]
    assert expected[1] is None
    assert expected[3] is None
    match kind:
        case "numpy":
            losses = numpy.array([math.nan if x is None else x for x in LOSSES])
        case "chunked":
            losses = pyarrow.chunked_array([LOSSES[:1], [], LOSSES[1:]], pyarrow.float32())
        case "slice":
            losses = pyarrow.array([7.0, *LOSSES, 8.0]).slice(1, 4)
        case "polars":
            losses = pytest.importorskip("polars").Series(LOSSES)
        case _:
            losses = kind(LOSSES)
    rates = model.predict("cubic", rtt_ns=5e7, loss=losses)
    if kind == "numpy":
        assert isinstance(rates, numpy.ndarray)
        assert rates.dtype == numpy.float64
    elif kind is not list:
        assert rates.type == pyarrow.float64()
    rates = rates if kind is list else rates.tolist()
    rates = [None if x is None or math.isnan(x) else x for x in rates]
    # float32 keeps seven digits.
    assert [x and round(x / 100) for x in rates] == [x and round(x / 100) for x in expected]


def test_columns_of_whole_numbers_and_of_nothing():
    rtts = numpy.array([10_000_000, 20_000_000])
    assert list(model.predict("window", window_bytes=1e6, rtt_ns=rtts)) == [8e8, 4e8]
    assert model.predict("window", window_bytes=1e6, rtt_ns=pyarrow.array(rtts)).tolist()[0] == 8e8
    assert len(model.predict("window", window_bytes=1e6, rtt_ns=numpy.array([]))) == 0
    assert len(model.predict("window", window_bytes=1e6, rtt_ns=pyarrow.array([], "i8"))) == 0


def test_columns_have_the_same_length():
    with pytest.raises(UsageError, match="2 and of 3 rows"):
        model.predict("window", window_bytes=[1e6, 2e6], rtt_ns=[1e6, 2e6, 3e6])


def test_what_a_model_does_not_have_is_named():
    with pytest.raises(UsageError, match="no parameter rtt: it has mss_bytes, rtt_ns"):
        model.predict("mathis", rtt=1e8, loss=0.01)
    with pytest.raises(UsageError, match="needs rtt_ns and loss"):
        model.predict("mathis")
    with pytest.raises(UsageError, match="periodic or random, not 'often'"):
        model.predict("mathis", rtt_ns=1e8, loss=0.01, losses="often")
    with pytest.raises(UsageError, match="no model 'veno'"):
        model.predict("veno")


def test_words_are_understood_in_rows_too():
    periodic, random = (
        model.predict("mathis", rtt_ns=[1e8], loss=0.01, losses=losses)[0]
        for losses in ("periodic", "random")
    )
    assert 1.06 < random / periodic < 1.08


def test_solving_is_the_inverse():
    loss = model.solve("pftk", "loss", rate_bps=1e7, rtt_ns=50e6)
    assert model.predict("pftk", rtt_ns=50e6, loss=loss) == pytest.approx(1e7)
    window = model.solve("window", "window", rate_bps=1.2e9, rtt_ns=100e6)
    assert window == pytest.approx(15e6)
    with pytest.raises(UsageError, match="no value that gives the rate"):
        model.solve("pftk", "loss", rate_bps=1e9, rtt_ns=1e9, window_bytes=1e4)


def test_the_command_names_rate_formula_source_and_conditions(tcpwhy):
    run = tcpwhy("model", "mathis", "--rtt", "100ms", "--loss", "0.1%")
    assert run.returncode == 0
    assert run.stdout.startswith("4.49 Mbit/s of payload\n")
    for words in ("MSS / RTT", "Mathis", "holds when", "loss 0.1 %", "38.7 segments"):
        assert words in run.stdout
    assert all(len(line) <= 100 for line in run.stdout.splitlines())


def test_the_command_lists_every_model(tcpwhy):
    listed = tcpwhy("model").stdout
    assert [line.split()[0] for line in listed.splitlines() if line[0] != " "] == [*model.models()]


def test_a_sweep_is_a_table_evenly_spaced_in_proportion(tcpwhy):
    options = ("cubic", "--rtt", "20ms", "--sweep", "loss=0.001%..1%", "--points", "4")
    rows = list(csv.DictReader(io.StringIO(tcpwhy("model", *options, "--format", "csv").stdout)))
    assert [float(row["loss"]) for row in rows] == pytest.approx([1e-5, 1e-4, 1e-3, 1e-2])
    for row in rows:
        rate = model.predict("cubic", rtt_ns=20e6, loss=float(row["loss"]))
        assert float(row["rate_bps"]) == pytest.approx(rate)
    assert tcpwhy("model", *options).stdout.count("Mbit/s") == 4


def test_a_sweep_goes_on_where_the_model_ends(tcpwhy):
    options = ("bbr", "--bottleneck", "10Mbit/s", "--rtt-min", "20ms", "--sweep", "loss=5%..50%")
    lines = tcpwhy("model", *options, "--points", "3", "--format", "jsonl").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows[0]["rate_bps"] > 9e6
    assert rows[2]["rate_bps"] is None
    assert "decays" in rows[2]["note"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["mathis", "--rtt", "100", "--loss", "1%"], "'100' is not understood"),
        (["mathis", "--rtt", "100ms"], "needs --loss"),
        (["mathis", "--rtt", "100ms", "--loss", "200%"], "between 0 and 1"),
        (["nothing"], "no model 'nothing'"),
        (["cubic", "--rtt", "1ms", "--sweep", "loss=1%"], "a range"),
        (["cubic", "--rtt", "1ms", "--sweep", "lost=1%..2%"], "no parameter lost"),
        (["cubic", "--rtt", "1ms", "--solve", "loss"], "a rate"),
        (["cubic", "--rtt", "0ms", "--loss", "1%"], "--rtt must be above 0"),
        (["cubic", "--rtt", "1ms", "--loss", "-1%"], "or one with %"),
        (["cubic", "--rtt", "1ms", "--loss", "1%", "--sweep", "loss=1%..2%"], "leave one out"),
        (["cubic", "--rtt", "1ms", "--loss", "1%", "--solve", "loss=1Mbit/s"], "leave one out"),
        (["pftk", "--rtt", "1ms", "--loss", "1%", "--form", "long"], "receiver or send"),
    ],
)
def test_misuse_is_explained(tcpwhy, options, message):
    run = tcpwhy("model", *options)
    assert run.returncode == 2
    assert message in run.stderr


def test_every_parameter_can_be_given(tcpwhy):
    for name, one in model.models().items():
        text = tcpwhy("model", name, "--help").stdout
        for parameter in one.parameters:
            assert f"--{parameter.quantity.replace('_', '-')} " in text
