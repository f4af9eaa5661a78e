"""Where the numbers of a training run go: a module a place."""
