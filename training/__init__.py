"""How the encoder's update is trained: written questions → low-rank matrices that `kb models install` adds to the base.

`tools/train` runs it. It needs PyTorch (the extra `train`); reading data and choosing batches do without.
"""
