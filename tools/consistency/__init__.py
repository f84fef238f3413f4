"""What can never be in a row: the tables of many captures and worlds, held against rules.

The rules are predicates over columns, each with a name and a sentence. They know no truth: they
ask whether what a row says agrees with itself, with the other tables and with the other taps.
"""
