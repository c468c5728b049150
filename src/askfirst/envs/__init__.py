"""One module per environment; its file name is its name."""
