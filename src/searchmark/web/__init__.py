"""The catalog search as a service over HTTP; imported only by the command that starts it."""
