"""Faults, injected on purpose: nothing may be lost. `make faults` runs all of it, `make test` a short version."""
