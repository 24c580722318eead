"""Experiments as files: audits, conformance, published experiments, reports and the command line."""
