"""A sampler of Optuna that certifies its best configuration: `from jaxbandit.optuna import BanditSampler`."""

from jaxbandit.decide.integrations.optuna import BanditSampler as BanditSampler
from jaxbandit.decide.integrations.optuna import StopAtCertificate as StopAtCertificate
from jaxbandit.decide.integrations.optuna import certificate as certificate
