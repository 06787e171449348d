"""Random histories of tables, and what lives in them."""
