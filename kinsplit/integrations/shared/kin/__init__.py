"""Kin from any store: of kinsplit, of either framework, or a `KinStore` beside it."""
