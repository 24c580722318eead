"""What knows nothing of bandits: types, arithmetic that stays finite, domains, checks, errors, text, files, threads."""
