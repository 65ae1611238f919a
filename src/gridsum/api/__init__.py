"""What `import gridsum` offers: models to hold, traces to look at, scores, training runs."""
