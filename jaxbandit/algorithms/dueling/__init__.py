"""Dueling bandits: the action is a pair of arms, and only the winner is observed."""
