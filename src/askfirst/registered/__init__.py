"""Experiments registered in the published JSON format: read as they are, checked, and judged from evidence."""
