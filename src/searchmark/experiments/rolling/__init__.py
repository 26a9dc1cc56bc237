"""Rolling evaluation of a live catalog: entries sampled from it, asked for by their own words."""
