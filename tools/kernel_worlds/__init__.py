"""Random worlds on the kernel's TCP: recorded in the lab, judged by the kernel's own clocks."""
