"""Cascading bandits: the action is a list of arms, and the first that is clicked is observed."""
