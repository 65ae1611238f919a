"""Faults, injected on purpose: nothing may be lost. `make faults` tries as many as there is time for."""
