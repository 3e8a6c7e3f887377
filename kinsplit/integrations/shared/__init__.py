"""Code that both framework adapters use: metadata, records, collections, and expansion by siblings."""
