"""What the service answers, as OpenAPI describes it: one module for each kind of route."""
