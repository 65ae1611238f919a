"""How well a network, or any other solver, adds: suites of problems → counts → records → tables."""
