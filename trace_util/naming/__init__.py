"""What kernel names are made of: one module a maker of names, one table or pattern a fact."""
