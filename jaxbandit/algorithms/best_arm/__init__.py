"""Best-arm identification with fixed confidence for unstructured arms, one factory function per name."""
