"""The list of attacks, with the number of tries that the tests make."""

from . import arrays, deaths, executors, foreign, links, logs, names, received, texts
from .outcomes import Attack

ATTACKS = [
    Attack("damaged logs of sessions", logs.session_log, 300),
    Attack("damaged logs of searches", logs.tune_log, 12),
    Attack("damaged saved sessions", arrays.damaged(arrays.saved_session), 500),
    Attack("damaged cells", arrays.damaged(arrays.cell), 100),
    Attack("damaged parts", arrays.damaged(arrays.part), 100),
    Attack("damaged tables of searches and batches of audits", arrays.damaged(arrays.table), 10),
    Attack("crafted files of arrays", arrays.crafted, 40),
    Attack("mutated specifications in TOML", texts.specification, 80),
    Attack("mutated JSON files", texts.json_file, 40),
    Attack("mutated files of scores", texts.scores, 12),
    Attack("odd arguments", texts.arguments, 80),
    Attack("kills at random instants", deaths.killed, 7, 120),
    Attack("full disks", deaths.full, 7, 120),
    Attack("processes on one session, some of them killed", deaths.processes, 1, 120),
    Attack("threads on one session", deaths.threads, 2, 120),
    Attack("executors that misbehave", executors.one, 38, 30, lambda workshop: 2 * len(executors.KINDS)),
    Attack("hostile names in tables and reports", names.one, 12, 60),
    Attack("links, pipes and directories in the place of files", links.one, 60, 60, links.count),
    Attack("directories of the user's own", foreign.one, 80, 60, foreign.count),
    Attack("received directories that name code", received.one, 60, 60, received.count),
    Attack("received directories with modules in them", received.shadowed, 2, 120, lambda workshop: 6),
]
