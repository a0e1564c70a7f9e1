"""Speed and memory, measured here: each figure beside a floor or reference of the same run."""
