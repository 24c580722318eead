"""Searches in the place of scikit-learn's, with certificates: `from jaxbandit.sklearn import BanditSearchCV`."""

from jaxbandit.decide.integrations.sklearn import BanditRandomizedSearchCV as BanditRandomizedSearchCV
from jaxbandit.decide.integrations.sklearn import BanditSearchCV as BanditSearchCV
