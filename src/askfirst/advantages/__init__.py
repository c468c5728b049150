"""One module per credit rule; its file name is its name."""
