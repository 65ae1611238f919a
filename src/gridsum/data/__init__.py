"""Problems of a task, where random numbers come from, and answers."""
