"""Numerical solvers: functions of arrays that know nothing about bandits."""
