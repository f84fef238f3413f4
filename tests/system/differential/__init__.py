"""Differential tests: what tshark, tcptrace and tcpwhy say about the same captures."""
