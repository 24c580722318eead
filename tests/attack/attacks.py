"""The list of attacks, with the number of tries that the tests make."""

from . import arrays, deaths, foreign, links, logs, names, received, texts
from .outcomes import Attack

ATTACKS = [
    Attack("damaged logs of sessions", logs.session_log, 40),
    Attack("damaged logs of searches", logs.tune_log, 4),
    Attack("damaged saved sessions", arrays.damaged(arrays.saved_session), 100),
    Attack("damaged cells", arrays.damaged(arrays.cell), 20),
    Attack("damaged parts", arrays.damaged(arrays.part), 20),
    Attack("damaged tables of searches and batches of audits", arrays.damaged(arrays.table), 4),
    Attack("crafted files of arrays", arrays.crafted, 9),
    Attack("mutated specifications in TOML", texts.specification, 20),
    Attack("mutated JSON files", texts.json_file, 9),
    Attack("mutated files of scores", texts.scores, 4),
    Attack("odd arguments", texts.arguments, 20),
    Attack("kills at random instants", deaths.killed, 4, 120),
    Attack("full disks", deaths.full, 4, 120),
    Attack("hostile names in tables and reports", names.one, 4, 60),
    Attack("links, pipes and directories in the place of files", links.one, 20, 60, links.count),
    Attack("directories of the user's own", foreign.one, 25, 60, foreign.count),
    Attack("received directories that name code", received.one, 20, 60, received.count),
    Attack("received directories with modules in them", received.shadowed, 1, 120, lambda workshop: 6),
]
