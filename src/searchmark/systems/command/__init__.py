"""A program as a system: started anew for each query, in a session of its own."""
