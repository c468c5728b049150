"""One module per decision method; its file name is its name."""
