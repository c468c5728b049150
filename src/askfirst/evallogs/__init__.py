"""Evaluation logs that were made elsewhere: read, joined sample by sample, and judged by the paired rules."""
