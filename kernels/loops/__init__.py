"""The runtime of native loops."""
