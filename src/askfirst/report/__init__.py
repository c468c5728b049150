"""Pages made from the records of a run. Reads files, runs nothing."""
