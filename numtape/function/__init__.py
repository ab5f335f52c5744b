"""`tf.function`: recording, signatures, control flow and Python calls inside functions."""
