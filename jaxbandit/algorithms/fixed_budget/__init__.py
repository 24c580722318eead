"""Best-arm identification with a fixed budget of pulls, one factory function per name."""
