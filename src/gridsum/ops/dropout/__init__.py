"""The dropout of a rollout, as a function of a stream."""
