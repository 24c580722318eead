"""Logged data: what a policy would have earned, estimated from the rows that another one wrote."""
