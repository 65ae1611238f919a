"""What a trained network does inside, as numbers: arrays in, small records out. Figures and page draw them."""
