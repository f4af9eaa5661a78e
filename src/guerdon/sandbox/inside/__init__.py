"""What runs in the confined processes: the standard library and nothing else."""
