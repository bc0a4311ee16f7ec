"""Made-up rows that pass every check of a contract, or fail one check and no other, for tests of every engine."""
