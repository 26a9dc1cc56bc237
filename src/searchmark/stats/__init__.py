"""How sure numbers are: intervals, paired tests, corrections, power, agreement of judges."""
