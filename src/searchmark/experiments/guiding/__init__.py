"""The guided first evaluation: its steps, what it keeps, and what it makes from files."""
