"""Pure exploration with fixed confidence in linear bandits and combinatorial bandits, one factory function per name."""
