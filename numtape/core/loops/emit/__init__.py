"""The text of the forward and the reverse sweep."""
