"""One module per reward; its file name is its name."""
