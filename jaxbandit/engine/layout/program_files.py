"""Compiled programs in the user's cache directory, so that another process need not compile them again.

The name of a file is a digest of everything that the program was compiled from: its text, the options, the versions,
the device, and the processor by the name of the directory. JAX's own settings govern: nothing is kept if
`jax_enable_compilation_cache` is False, or if JAX has a cache of the user's, which then serves these programs, too.
Nothing is read where another user could have written (`support/private.py`), because what is read is executed.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.experimental import serialize_executable
from jax.stages import Lowered

from jaxbandit.support import cpuinfo, private, text
from jaxbandit.support.types import Device

LIMIT = 256 * 2**20  # bytes, checked once per process; what the process itself compiles may exceed it
SUFFIX = ".program"
# The entries of cpuinfo on which compiled code depends.
PROCESSOR = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
# A program for one device that calls no Python, whose address would be another in each process.
ALONE = ("mhlo.num_partitions = 1 :", "mhlo.num_replicas = 1 :")
FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")  # variables of the environment that XLA's compilers read
PYTHON = re.compile(r"custom_call @\w*python\w*callback")

# Directories of JAX's own cache. A program that JAX has read from one cannot be kept here, because JAX 0.10 then loses
# functions of it, and JAX goes on using the first directory when another is set, or none.
_caches_of_jax: list[str] = []


def path_of(lowered: Lowered, options: Mapping[str, Any], device: Device) -> Path | None:
    """Return the file of a program with these compiler options and settings of JAX; None if it cannot be kept."""
    directory = _directory()
    if directory is None or jax.process_count() > 1:
        return None
    program = lowered.as_text()
    if not all(part in program for part in ALONE) or PYTHON.search(program):
        return None
    backend = device.client
    about = (jax.__version__, backend.platform, backend.platform_version, device.device_kind, device.id)
    flags = [os.environ.get(name, "") for name in FLAGS]
    key = repr((about, flags, sorted(options.items()), program))
    return directory / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)


def read(path: Path, lowered: Lowered, device: Device) -> Any:
    """Return the compiled program of a file; None if there is none, or a damaged one."""
    try:
        if private.distrust_entry(path):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    digest, program = content[:32], content[32:]
    try:
        if hashlib.sha256(program).digest() != digest:
            raise ValueError(path)
        trees = lowered.in_tree, lowered.out_tree
        compiled = serialize_executable.deserialize_and_load(program, *trees, device.client, [device])
    except Exception:  # of any type: the form is JAX's own, and compiling is always right
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # those that are used stay the longest
    return compiled


def write(path: Path, compiled: Any) -> None:
    """Keep a compiled program in a file, if that can be done."""
    try:
        program = serialize_executable.serialize(compiled)[0]
    except Exception:  # of any type, as above
        return
    with contextlib.suppress(OSError):  # a full disk, for example
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(program).digest() + program)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _directory() -> Path | None:
    """The directory of programs, None if none may be used."""
    config: Any = jax.config
    if config.jax_compilation_cache_dir:
        _caches_of_jax.append(config.jax_compilation_cache_dir)
    if not config.jax_enable_compilation_cache or _caches_of_jax:
        return None
    try:
        return _private_directory(private.cache_directory() / processor())
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None


@functools.cache
def _private_directory(directory: Path) -> Path | None:
    """A directory that exists and that nobody else can write, without links; None with a line if it cannot be had."""
    private.make_directory(directory)
    if reason := private.distrust(directory.parent) or private.distrust(directory):
        remedy = "make it your own, or set XDG_CACHE_HOME to a directory that is"
        text.say(f"compiled programs are not cached, because {reason}; {remedy}")
        return None
    if not os.access(directory, os.W_OK):
        return None
    directory = directory.resolve()  # these levels have been checked; a link could be changed
    trim(directory.parent)
    return directory


@functools.cache
def processor() -> str:
    """Return a name for the kind of processor and the compiler; machines with the same name can share compiled code."""
    about = [platform.system(), platform.machine(), platform.processor(), importlib.metadata.version("jaxlib")]
    with contextlib.suppress(OSError):
        about += cpuinfo.lines(PROCESSOR)
    return "xla-" + hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]


def trim(directory: Path, limit: int = LIMIT) -> None:
    """If the cache exceeds its limit, delete the files that were used last the longest ago, down to half the limit."""
    entries = list(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):  # another process may have deleted it
            path.unlink()
        total -= size
        if total <= limit // 2:
            return


def _entries(directory: Path) -> Iterator[tuple[float, int, Path]]:
    for path in directory.glob("*/*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path
