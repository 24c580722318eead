"""Semi-bandit algorithms: the action is a set of arms, and the feedback is the reward of each member."""
