"""The list of attacks, with the number of tries that the tests make."""

from . import arrays, deaths, foreign, links, logs, names, received, texts
from .outcomes import Attack

ATTACKS = [
    Attack("damaged logs of sessions", logs.session_log, 100),
    Attack("damaged logs of searches", logs.tune_log, 6),
    Attack("damaged saved sessions", arrays.damaged(arrays.saved_session), 500),
    Attack("damaged cells", arrays.damaged(arrays.cell), 50),
    Attack("damaged parts", arrays.damaged(arrays.part), 50),
    Attack("damaged tables of searches and batches of audits", arrays.damaged(arrays.table), 5),
    Attack("crafted files of arrays", arrays.crafted, 20),
    Attack("mutated specifications in TOML", texts.specification, 40),
    Attack("mutated JSON files", texts.json_file, 20),
    Attack("mutated files of scores", texts.scores, 6),
    Attack("odd arguments", texts.arguments, 40),
    Attack("kills at random instants", deaths.killed, 4, 120),
    Attack("full disks", deaths.full, 4, 120),
    Attack("hostile names in tables and reports", names.one, 6, 60),
    Attack("links, pipes and directories in the place of files", links.one, 30, 60, links.count),
    Attack("directories of the user's own", foreign.one, 40, 60, foreign.count),
    Attack("received directories that name code", received.one, 30, 60, received.count),
    Attack("received directories with modules in them", received.shadowed, 1, 120, lambda workshop: 6),
]
