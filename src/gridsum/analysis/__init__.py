"""What a trained network does inside, as numbers: arrays in, small records out. Figures and page draw them."""


class FigureError(ValueError):
    """What cannot be found out, drawn or written as asked; the message says what to do."""
