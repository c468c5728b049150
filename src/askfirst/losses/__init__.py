"""One module per loss; its file name is its name."""
