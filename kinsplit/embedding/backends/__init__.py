"""The engines that run a transformer model, and its conversion between them."""
