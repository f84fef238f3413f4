"""`python -m tcpwhy` is `tcpwhy`."""

from tcpwhy.cli import main

main()
