"""The list of attacks, with the number of tries that the tests make."""

from . import arrays, logs
from .outcomes import Attack

ATTACKS = [
    Attack("damaged logs of sessions", logs.session_log, 1000),
    Attack("damaged logs of searches", logs.tune_log, 20),
    Attack("damaged saved sessions", arrays.damaged(arrays.saved_session), 1000),
    Attack("damaged cells", arrays.damaged(arrays.cell), 1000),
    Attack("damaged parts", arrays.damaged(arrays.part), 200),
    Attack("damaged tables of searches and batches of audits", arrays.damaged(arrays.table), 20),
    Attack("crafted files of arrays", arrays.crafted, 100),
]
