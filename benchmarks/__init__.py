"""Ratios of Reelwright's work to an honest baseline, measured side by side in one run.

Belongs here: benchmarks with their baselines, and the table that they print. Does not belong here: absolute
speed limits (machines differ), or anything the product imports.
"""
