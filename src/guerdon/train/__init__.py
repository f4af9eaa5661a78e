"""Training a language model with a reward: configuration, backends, what is recorded of a run."""
