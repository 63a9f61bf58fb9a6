"""How the encoder's update is trained: written questions → low-rank matrices that `kb models install` adds to the base.

`tools/train` runs it. It needs PyTorch (the extra `train`) and, for the base weights, an installed encoder.
"""
