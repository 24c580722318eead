"""Bandits with knapsacks: pulls cost, and a spent budget ends the run."""
