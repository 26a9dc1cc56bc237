"""PostgreSQL as a system: a SQL file with bound parameters, on connections that keep time."""
