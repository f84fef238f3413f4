"""Fits the weights of the evidence model, and measures how sure it may be.

`make fit` runs it all: `python -m fit` gathers what the items of evidence say beside what is true,
fits, calibrates, and writes `crates/core/src/diagnosis/model/weights.bin`.
"""
