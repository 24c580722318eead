"""Strict settings for all tests, a browser, compiled code dropped after each file, less compilation where that will do.

XLA never frees compiled code by itself. Compiled programs are kept on disk for later tests, for the other worker, and
for the next run of the tests, which takes half the time; `--cache-clear` of pytest deletes them.
"""

import gc
import os
import platform
import shutil
import signal
import sys
from pathlib import Path

import pytest

# Otherwise each process that a test starts would compile every module that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Commands under test keep compiled programs in the repository and not in the user's cache directory. Only Matplotlib's
# list of fonts, which takes long to build, stays there.
CACHES = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
os.environ.setdefault("MPLCONFIGDIR", str(CACHES / "matplotlib"))
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / ".pytest_cache" / "d")
# JAX's own cache keeps the programs of the tests themselves, too. It is trimmed, so that it is never a user's own.
PROGRAMS = Path(os.environ.get("JAXBANDIT_TESTS_CACHE") or Path(os.environ["XDG_CACHE_HOME"]) / "jax")
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(PROGRAMS / platform.node())
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
sys.path.append(str(Path(__file__).parents[1]))  # of benchmarks; last: an installed package stays the one under test

import jax  # noqa: E402
from jax.experimental.compilation_cache import compilation_cache  # noqa: E402
from xla_options import QUICKLY, flags, of_every_program  # noqa: E402

from jaxbandit.engine.driver import fixed_horizon, programs, until_stop  # noqa: E402
from jaxbandit.engine.layout import compiled, compiling, program_files, whole_loops  # noqa: E402

FLAGS = os.environ.get("XLA_FLAGS", "")
# Files that take a minute or more.
LONGEST = (
    "conformance docs attacks notebooks trust_cli cluster_workers forms trust_sessions trust_statistics "
    "whole_loops site kills"
).split()
compiling.SECONDS = 1e6  # how long a test compiles depends on the machine
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
program_files.trim(PROGRAMS, 2 * 2**30)  # all tests keep half of it
gc.freeze()
gc.set_threshold(20_000, 20, 20)  # tracing makes many objects and little garbage: collecting took 7 % of a profile


def pytest_addoption(parser):
    parser.addoption(
        "--without-whole-loops",
        action="store_true",
        help="compile loops as XLA does by itself and search no arms one by one; tests pass with the same bytes",
    )


def pytest_configure(config):
    if config.getoption("--without-whole-loops"):
        whole_loops.ALLOWED = False


def pytest_collection_modifyitems(items):
    """The longest files come first, so that neither worker ends long after the other.

    In each file what is compiled quickly comes last: it may use what JAX has kept of the others, not they its.
    """
    places = {}
    for item in items:
        name = item.path.stem.removeprefix("test_")
        first = LONGEST.index(name) if name in LONGEST else len(LONGEST)
        places.setdefault(item.path, (first, len(places)))
    items.sort(key=lambda item: (places[item.path], -_level(item)))


def _level(item):
    """How much XLA optimizes: 3 as for users, 0 where code is compiled quickly, 1 where it also plays for seconds."""
    mark = item.get_closest_marker("quickly_compiled")
    return 3 if mark is None else mark.kwargs.get("level", 0)


_levels = [3]  # of the test before


@pytest.hookimpl(tryfirst=True)  # before fixtures, which compile too
def pytest_runtest_setup(item):
    level = _level(item)
    if level > _levels[0]:
        jax.clear_caches()  # JAX keeps programs without regard to these options
    _levels[0] = level
    options = {} if level == 3 else {name: level if "level" in name else value for name, value in QUICKLY.items()}
    jax.config.update("jax_disable_most_optimizations", level == 0)
    of_every_program(options)
    compiled.MORE_OPTIONS.clear()  # the engine keeps programs apart by these
    compiled.MORE_OPTIONS.update(options)
    os.environ["XLA_FLAGS"] = f"{FLAGS} {flags(options)}".strip()  # of processes that the test starts


@pytest.fixture(autouse=True, scope="module")
def _drop_compiled_code():
    yield
    compiled.forget()
    jax.clear_caches()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def axes():
    """Axes of a figure that no screen shows."""
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


@pytest.fixture
def compilations(monkeypatch):
    """Names of the functions that the engine's driver compiles from here on."""
    names, compile_program = [], compiled.compile_program

    def count(function, *examples, **more):
        names.append(function.__name__)
        return compile_program(function, *examples, **more)

    for module in (programs, until_stop, fixed_horizon):
        monkeypatch.setattr(module, "compile_program", count)
    return names


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIETLY = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-sync"


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium of the system, driven by Playwright."""
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        options = [f"--{option}" for option in [*QUIETLY.split(), "disable-component-update"]]
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line("browser tests are not run: there is no chromium on PATH")


@pytest.fixture
def own_program_files():
    """Let jaxbandit keep compiled programs itself, in place of JAX's cache, from which the tests live otherwise."""
    options = ("jax_compilation_cache_dir", "jax_enable_compilation_cache")
    before = {name: getattr(jax.config, name) for name in options}
    own = program_files._caches_of_jax[:]
    program_files._caches_of_jax.clear()
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
    program_files._private_directory.cache_clear()
    yield
    program_files._caches_of_jax[:] = own
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    program_files._private_directory.cache_clear()
