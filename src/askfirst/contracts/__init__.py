"""What every plugin of a kind must satisfy, as plain functions that raise."""
