"""Scenarios on the kernel's TCP: network namespaces joined by the emulator."""
