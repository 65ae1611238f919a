"""Models for other programs: a Hugging Face folder, ONNX graphs, the JSON of a rule."""
