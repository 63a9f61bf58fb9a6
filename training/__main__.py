"""`tools/train`: train the encoder's update, or tell its held-out figures."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from kb.assemble.e5_weights import read_weights
from kb.embed.installed.vocabulary import open_vocabulary
from kb.embed.installed.word_tokens import WordTokens
from kb.embed.text import encoder_text
from training.batches import Batches, Recipe
from training.encoder import Encoder
from training.held_out import TokenIds, held_out_figures
from training.objective import step_loss
from training.questions import Source, read_source
from training.update_file import read_update, write_update

_WARM_STEPS = 20
_LOWEST_RATE = 0.03
_LONGEST_PASSAGE = 384
_LONGEST_QUESTION = 60


def main() -> None:
    """Train from the command line's data to the update's file."""
    asked = _arguments()
    torch.manual_seed(asked.seed)
    if asked.threads:
        torch.set_num_threads(asked.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    precision = {"bfloat16": torch.bfloat16, "float32": torch.float32}[asked.precision]
    weights = read_weights(asked.base)
    encoder = Encoder(weights, asked.rank, precision).to(device)
    words = WordTokens(open_vocabulary(asked.vocabulary))
    remembered: dict[str, list[int]] = {}

    def token_ids(text: str) -> list[int]:
        if text not in remembered:
            longest = _LONGEST_QUESTION if text.startswith("query: ") else _LONGEST_PASSAGE
            remembered[text] = words.token_ids(encoder_text(text))[:longest]
        return remembered[text]

    held_out = [read_source(path) for path in asked.held_out]
    if asked.update:
        read_update(encoder.learned(), asked.update, asked.share)
    if asked.train:
        _train(encoder, [read_source(path) for path in asked.train], held_out, token_ids, asked)
    if held_out:
        _tell(encoder, held_out, token_ids)


def _train(encoder: Encoder, sources: Sequence[Source], held_out: Sequence[Source], token_ids: TokenIds, asked: argparse.Namespace) -> None:
    if asked.fraction < 1:
        sources = [_fraction(source, asked.fraction) for source in sources]
    batches = Batches(sources, Recipe(asked.groups, asked.twins, asked.cut), asked.seed)
    steps = asked.steps or round(asked.epochs * batches.steps_of_an_epoch)
    questions = sum(len(source.questions) for source in sources)
    print(f"{len(sources)} sources, {questions} questions, {steps} steps of {batches.steps_of_an_epoch} an epoch", flush=True)
    parameters = [parameter for _, parameter in encoder.learned()]
    optimizer = torch.optim.AdamW(parameters, lr=asked.rate, weight_decay=0.01)
    done = _resumed(encoder, optimizer, asked.checkpoint)
    started, saved = time.monotonic(), time.monotonic()
    sums = [0.0] * 5
    for step, batch in zip(range(steps), batches, strict=False):
        if step < done:
            continue
        states = encoder([token_ids(f"query: {text}") for text in batch.questions] + [token_ids(f"passage: {text}") for text in batch.passages])
        asking = len(batch.questions)
        loss = step_loss(states[:asking], states[asking:], batch)
        rate = asked.rate * min(1, (step + 1) / _WARM_STEPS) * max(_LOWEST_RATE, .5 * (1 + math.cos(math.pi * step / steps)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        for at, value in enumerate((loss.vector, loss.tokens, loss.right_by_vector, loss.right_by_tokens, 1)):
            sums[at] += value
        if (step + 1) % 10 == 0 or step + 1 == steps:
            told = [value / sums[4] for value in sums[:4]]
            print(f"{step + 1}/{steps} {time.monotonic() - started:.0f}s loss {told[0]:.3f} {told[1]:.3f} right {told[2]:.3f} {told[3]:.3f} texts {len(batch.questions)} {len(batch.passages)}", flush=True)
            sums = [0.0] * 5
        if asked.checkpoint and time.monotonic() - saved > 120:
            torch.save({"step": step + 1, "learned": dict(encoder.learned()), "optimizer": optimizer.state_dict()}, asked.checkpoint)
            write_update(encoder.learned(), asked.out)
            saved = time.monotonic()
        if held_out and asked.look and (step + 1) % asked.look == 0 and step + 1 < steps:
            _tell(encoder, held_out, token_ids)
    write_update(encoder.learned(), asked.out)


def _resumed(encoder: Encoder, optimizer: torch.optim.Optimizer, checkpoint: Path | None) -> int:
    if checkpoint is None or not checkpoint.is_file():
        return 0
    state = torch.load(checkpoint)
    with torch.no_grad():
        for name, parameter in encoder.learned():
            parameter.copy_(state["learned"][name])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


def _fraction(source: Source, share: float) -> Source:
    """The first passages of a source with their questions."""
    kept = int(len(source.passages) * share) // 2 * 2
    return Source(source.name, source.passages[:kept], [q for q in source.questions if q.passage < kept and all(o < kept for o in q.others)], [], [p for p in source.pairs if max(p) < kept])


def _tell(encoder: Encoder, held_out: Sequence[Source], token_ids: TokenIds) -> None:
    figures, above = held_out_figures(encoder, held_out, token_ids)
    for each in figures:
        shares = "  ".join(" ".join(f"{share:.3f}" for share in shares) for shares in (each.by_vector, each.by_tokens))
        print(f"  {each.kind:12} {each.questions:5}  {shares}")
    if above is not None:
        print(f"  own passage above its twin {above:.3f}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/train", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the 4-bit weight file")
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--train", type=Path, nargs="*", default=[])
    parser.add_argument("--held-out", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--update", type=Path, help="begin with this update")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--rank", type=int, default=24)
    parser.add_argument("--groups", type=int, default=5)
    parser.add_argument("--twins", type=int, default=7)
    parser.add_argument("--cut", type=int, default=6)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--look", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    return parser.parse_args()


if __name__ == "__main__":
    main()
