"""The files of an installed Universal Sentence Encoder and how its numbers lie in them.

`assemble_use` writes them, `use_adapter` and `use_single` map them.
"""

from __future__ import annotations

TABLE_FILE = "table.bin"
LAYERS_FILE = "layers.bin"
LAYERS_INDEX = "layers.json"
DIMENSIONS = 512

# The embedding table's rows take turns in so many scales; the convolutions see so many tokens at once.
CHUNKS = 17
ORDERS = (2, 3, 5)
BRANCH_WIDTH = 256

FIRST_TOKEN, LAST_TOKEN = 1, 2
