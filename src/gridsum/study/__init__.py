"""The paper's whole study as one resumable campaign: train, choose, overtrain, measure, report."""
