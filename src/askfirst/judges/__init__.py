"""Judges: what reads a whole episode and says, by dimension and in words, what went wrong. One module each."""
