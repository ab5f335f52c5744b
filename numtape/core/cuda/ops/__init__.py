"""The launches of each op that is not elementwise: its kernels and their parameters."""
