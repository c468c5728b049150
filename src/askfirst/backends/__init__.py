"""One module per way to sample and train; its file name is its name."""
