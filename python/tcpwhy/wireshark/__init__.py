"""Verdicts in Wireshark: as comments on packets, in files and on live links."""
