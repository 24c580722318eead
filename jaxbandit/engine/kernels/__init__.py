"""A segment of rounds in one kernel of an NVIDIA GPU: the program of a run is written as PTX and launched by XLA.

`ptx` writes operations of one thread, `arms` and `reductions` those on a value for every arm, `rules`, `shapes` and
`control` translate the operations that JAX traces, `kernel` is the frame around them, and `loop` takes the place of
the engine's own loop where a program and a device allow it.
"""
