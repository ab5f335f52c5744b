"""`numtape.kernel`: native loops compiled by Numba, with derivatives."""
