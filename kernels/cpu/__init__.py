"""What the CPU executor runs: the sweep over lanes and scalars, and lane kernels."""
