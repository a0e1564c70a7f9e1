"""What was asked and what came out: specifications, runs and the files that keep them."""
