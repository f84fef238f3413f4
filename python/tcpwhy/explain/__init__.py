"""Arguments in prose: why a packet was counted as what it was counted."""
