"""The paper's whole study, which can be resumed at any moment: train, choose, overtrain, measure, report."""
