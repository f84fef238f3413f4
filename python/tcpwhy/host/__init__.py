"""The host that tcpwhy runs on, by its kernel and its network cards."""
