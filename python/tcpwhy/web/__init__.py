"""The dashboard: pages over a store, read through DuckDB and never loaded whole."""
