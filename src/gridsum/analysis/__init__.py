"""What a trained network does inside, as numbers: arrays in, small records out. Figures and page draw them."""


class AnalysisError(ValueError):
    """What is to be looked at does not show it; the message says what to do."""
