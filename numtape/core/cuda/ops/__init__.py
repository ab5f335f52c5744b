"""What the GPU does for each op that is not elementwise: which kernels, with which parameters."""
