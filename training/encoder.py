"""The encoder as PyTorch trains it: the base weights fixed, beside each linear layer a low-rank update that learns.

Hu et al. 2021, LoRA. The update's own weights and the norms' are float32; all that is computed from them between the
embeddings and the last layer's output is in the precision asked for, bfloat16 or float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as functional
from numpy.typing import NDArray
from torch import Tensor, nn

from kb.assemble.e5_weights import E5Weights

LINEAR_PARTS = ("q", "k", "v", "ao", "fi", "fo")
NORMS = ("aln", "oln")
_FIRST, _LAST, _PADDING = 0, 2, 1
_UNSEEN = -1e4
# Texts of about the same length go through together; as many as fill this many places.
_BATCH_PLACES = {"cpu": 6_000, "cuda": 60_000}


class UpdatedLinear(nn.Module):
    """y = x · (W + up · down)ᵀ + b, W and b fixed: [outputs, inputs], up [outputs, rank], down [rank, inputs]."""

    def __init__(self, weight: Tensor, bias: Tensor, rank: int, precision: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("weight", weight.to(precision))
        self.register_buffer("bias", bias.to(precision))
        self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, states: Tensor) -> Tensor:
        """[places, inputs] → [places, outputs]."""
        inner = functional.linear(states, self.down.to(states.dtype))
        whole = functional.linear(states, self.weight, self.bias)
        return torch.addmm(whole, inner, self.up.to(states.dtype).T)


class Layer(nn.Module):
    """One block of the encoder: attention, then the feed-forward part, each normalised after its sum."""

    def __init__(self, weights: E5Weights, number: int, rank: int, precision: torch.dtype, dropout: float) -> None:
        super().__init__()
        sizes = weights.sizes
        self.dropout = dropout
        self.heads, self.epsilon = sizes.heads, sizes.epsilon
        shapes = {
            "fi": (sizes.feed_forward, sizes.hidden),
            "fo": (sizes.hidden, sizes.feed_forward),
        }
        for part in LINEAR_PARTS:
            shape = shapes.get(part, (sizes.hidden, sizes.hidden))
            matrix = torch.from_numpy(weights.matrix(f"l{number}.{part}.w", *shape).copy())
            bias = torch.from_numpy(weights.vector(f"l{number}.{part}.b", shape[0]).copy())
            setattr(self, part, UpdatedLinear(matrix, bias, rank, precision))
        for norm in NORMS:
            for half in "wb":
                values = torch.from_numpy(weights.vector(f"l{number}.{norm}.{half}", sizes.hidden).copy())
                self.register_parameter(f"{norm}_{half}", nn.Parameter(values))

    def forward(self, states: Tensor, unseen: Tensor | None) -> Tensor:
        """[texts, places, hidden] → the same; `unseen` [texts, 1, 1, places] is added to what attends to a place."""
        texts, places, hidden = states.shape
        flat = states.reshape(-1, hidden)

        def headed(part: nn.Module) -> Tensor:
            return part(flat).view(texts, places, self.heads, -1).transpose(1, 2)

        seen = functional.scaled_dot_product_attention(headed(self.q), headed(self.k), headed(self.v), unseen)
        context = seen.transpose(1, 2).reshape(-1, hidden)
        attended = self._normed(flat + self._dropped(self.ao(context)), "aln")
        fed = self._dropped(self.fo(functional.gelu(self.fi(attended))))
        return self._normed(attended + fed, "oln").view(texts, places, hidden)

    def _dropped(self, states: Tensor) -> Tensor:
        return functional.dropout(states, self.dropout, self.training and self.dropout > 0)

    def _normed(self, sums: Tensor, norm: str) -> Tensor:
        weight, bias = getattr(self, f"{norm}_w").to(sums.dtype), getattr(self, f"{norm}_b").to(sums.dtype)
        return functional.layer_norm(sums, (sums.shape[-1],), weight, bias, self.epsilon)


class Encoder(nn.Module):
    """Token ids → the states of all tokens, by the base weights and the update that is learned."""

    def __init__(self, weights: E5Weights, rank: int, precision: torch.dtype, dropout: float = 0.0) -> None:
        """`dropout` is the share of each sublayer's output that a step leaves out (Srivastava et al. 2014)."""
        super().__init__()
        sizes = weights.sizes
        self.precision = precision
        words = torch.from_numpy(weights.matrix("emb.word", sizes.vocabulary, sizes.hidden))
        positions = weights.vector("emb.pos", sizes.positions, sizes.hidden)
        positions = positions + weights.vector("emb.type", 2, sizes.hidden)[0]
        self.register_buffer("words", words)
        self.register_buffer("positions", torch.from_numpy(positions.copy()))
        self.register_buffer("norm_w", torch.from_numpy(weights.vector("emb.ln.w", sizes.hidden).copy()))
        self.register_buffer("norm_b", torch.from_numpy(weights.vector("emb.ln.b", sizes.hidden).copy()))
        self.layers = nn.ModuleList(Layer(weights, number, rank, precision, dropout) for number in range(sizes.layers))
        self.epsilon = sizes.epsilon

    def learned(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The update's matrices and the norms, by the names that the update's file has."""
        for number, layer in enumerate(self.layers):
            for name, parameter in layer.named_parameters():
                yield f"l{number}.{name.replace('_w', '.w').replace('_b', '.b')}", parameter

    @property
    def precision_name(self) -> str:
        """bfloat16 or float32."""
        return str(self.precision).removeprefix("torch.")

    def set_learned(self, update: Mapping[str, NDArray[np.float32]]) -> None:
        """Begin with an update of this rank or a lower one. Raises: ValueError for one of other shapes."""
        with torch.no_grad():
            for name, parameter in self.learned():
                values = update.get(name)
                ranks = {name.endswith(".up"): 1, name.endswith(".down"): 0}.get(True)
                if values is None or not _fits(values.shape, tuple(parameter.shape), ranks):
                    raise ValueError(f"the update has no {name} of {'x'.join(map(str, parameter.shape))}")
                parameter[tuple(slice(size) for size in values.shape)] = torch.from_numpy(values)

    def average_with_base(self, weights: E5Weights, share: float) -> None:
        """Make every weight share · learned + (1 - share) · base.

        Wortsman et al. 2022, robust fine-tuning of zero-shot models.
        """
        with torch.no_grad():
            for name, parameter in self.learned():
                if name.endswith(".up"):
                    parameter.mul_(share)
                elif not name.endswith(".down"):
                    base = torch.from_numpy(weights.vector(name, *parameter.shape).copy()).to(parameter.device)
                    parameter.mul_(share).add_(base * (1 - share))

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Without dropout and gradients."""
        self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train()

    def forward(self, texts: Sequence[Sequence[int]]) -> list[Tensor]:
        """float32[tokens, hidden] of each text's ids (without marks), marks included, in the order given."""
        device = self.words.device
        states: list[Tensor] = [torch.empty(0)] * len(texts)
        for batch in _batches(texts, _BATCH_PLACES[device.type]):
            longest = max(len(texts[index]) for index in batch) + 2
            ids = np.full((len(batch), longest), _PADDING, np.int64)
            seen = np.zeros((len(batch), longest), np.float32)
            for row, index in enumerate(batch):
                marked = [_FIRST, *texts[index], _LAST]
                ids[row, : len(marked)] = marked
                seen[row, : len(marked)] = 1
            unseen = None
            if not seen.all():
                unseen = torch.from_numpy((1 - seen) * _UNSEEN).to(device, self.precision)[:, None, None, :]
            hidden = self.words[torch.from_numpy(ids).to(device)] + self.positions[:longest]
            hidden = functional.layer_norm(hidden, (hidden.shape[-1],), self.norm_w, self.norm_b, self.epsilon)
            hidden = hidden.to(self.precision)
            for layer in self.layers:
                hidden = layer(hidden, unseen)
            for row, index in enumerate(batch):
                states[index] = hidden[row, : len(texts[index]) + 2].float()
        return states


def _fits(given: tuple[int, ...], own: tuple[int, ...], ranks: int | None) -> bool:
    """Whether the shapes are the same, but for a lower rank, which is the axis `ranks`."""
    return len(given) == len(own) and all(
        one == other or (axis == ranks and one < other)
        for axis, (one, other) in enumerate(zip(given, own, strict=True))
    )


def _batches(texts: Sequence[Sequence[int]], places: int) -> Iterator[list[int]]:
    """The numbers of the texts, the shortest first, in batches of at most so many places."""
    batch: list[int] = []
    for index in sorted(range(len(texts)), key=lambda index: len(texts[index])):
        if batch and (len(batch) + 1) * (len(texts[index]) + 2) > places:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
