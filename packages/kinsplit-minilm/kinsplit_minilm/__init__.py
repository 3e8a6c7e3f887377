"""The files of the embedding model all-MiniLM-L6-v2, which kinsplit finds here."""

from pathlib import Path

__version__ = "1.0.0"

#: Folder with the weights (model.safetensors), the tokenizer and the configuration.
MODEL_FOLDER = Path(__file__).parent / "model"
