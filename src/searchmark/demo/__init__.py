"""The demo: a catalog of invented paid services, its queries and its judgments."""
