"""Engines that are asked in the query DSL of OpenSearch and Elasticsearch."""
