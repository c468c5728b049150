"""Experiment trackers: `start` opens a run in one, `log` gives it values, `finish` closes the run."""
