"""The front end of native loops: from a function's source to the intermediate representation."""
