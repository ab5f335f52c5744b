"""Names, arguments and errors of TensorFlow: hints and tracebacks."""
