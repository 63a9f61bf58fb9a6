"""Train the encoder's update: from written questions to the file that `kb models install` adds to the base's weights.

The file, a record of what it was made of and how well it does (.json), and the checkpoint stand beside each other. A
training that was interrupted goes on where it was when the same command is given again, and ends with the same file.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

import kb
from kb.errors import KbError
from kb.models.manifest import sha256_of
from training.base import Base, open_base
from training.batches import Batches, Recipe
from training.encoder import Encoder
from training.held_out import held_out_figures, lines_of, record_of
from training.judge import Judge, Readings, near_passages, reading_loss
from training.judge_figures import judge_lines, judge_record
from training.neighbours import neighbours
from training.objective import Mapped
from training.pages import PageBatches, read_pages
from training.questions import BadData, CheckoutMissing, Source, check_apart, read_source, source_files
from training.run import (
    PRECISIONS,
    Checkpoint,
    Course,
    Plan,
    Stopped,
    encoder_loss,
    paired_loss,
    seconds_by_precision,
    train,
    within_reach,
)
from training.update_file import Floats, rank_of, read_update, write_update

_CHECKOUT = Path(__file__).parents[1]
_COUNTS = ("step", "texts")
_EXAMPLES = """\
examples:
  tools/train                                    all of benchmarks/training, four epochs
  tools/train --checkouts DIR                    with the files whose passages are in others' repositories
  tools/train --checkouts DIR --pages benchmarks/training/pages.tsv
                                                 and sections of documentation that is there in both languages
  tools/train --held-out DIR/n4.jsonl OTHER      and figures by kind of question after each epoch, of these files
  tools/train --epochs 1 --fraction .25          a quarter of the data, to see what more of it gives
  tools/train --judge --begin-with UPDATE --rank 64 --passages 80 --rate 8e-4 --dropout .1 --out JUDGE
                                                 a judge of question and passage, from the encoder's update
  tools/train --steps 0 --begin-with FILE --share .7 --out OTHER
                                                 no training: the average of an update and the base, as an update

The update is used once it stands in kb/assemble/data/encoder_update.npz and `kb models install --force` has run.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the arguments say. Returns the exit code."""
    asked = _arguments(arguments)
    try:
        _run(asked)
    except Stopped:
        print(f"Stopped. The same command goes on from {_beside(asked.out, '.checkpoint')}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        return 130
    except (BadData, KbError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        if hint := getattr(error, "hint", None):
            print(f"  hint: {hint}", file=sys.stderr)
        return 1
    return 0


def _run(asked: argparse.Namespace) -> None:
    console = Console(stderr=True, markup=False, highlight=False)
    training = {} if asked.steps == 0 else _sources(asked.data, asked.checkouts, console)
    held_out = _sources(asked.held_out, asked.checkouts, console)
    check_apart(training, held_out)
    pages = read_pages(asked.pages, asked.checkouts) if asked.pages and training else None
    if not asked.out.parent.is_dir():
        asked.out.parent.mkdir(parents=True)
    with _bar(console) as bar:
        base = open_base(asked.base, asked.cache / "base", _fetching(bar))
    device = torch.device(asked.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if asked.threads:
        torch.set_num_threads(asked.threads)
    begun_with = read_update(asked.begin_with) if asked.begin_with else None
    rank = asked.rank if begun_with is None else rank_of(begun_with)
    if asked.judge and begun_with is not None:
        rank = max(rank, asked.rank)
    sources = [within_reach(source.first(asked.fraction), base) for source in training.values()]
    identity = _identity(asked, training, held_out, base, rank)
    if pages is not None:
        identity["pages"] = {"sha256": pages.sha256, "sections": pages.counts}
    checkpoint = Checkpoint(_beside(asked.out, ".checkpoint"), identity)
    if asked.fresh:
        checkpoint.path.unlink(missing_ok=True)
    saved = checkpoint.saved()
    precision = saved["precision"] if saved else asked.precision or _faster(base, rank, sources, device, console)
    torch.manual_seed(asked.seed)
    encoder = Encoder(base.weights, rank, PRECISIONS[precision], asked.dropout)
    learner = Judge(encoder, base.weights.sizes.hidden).to(device) if asked.judge else encoder.to(device)
    if begun_with is not None:
        _begin_with(learner, begun_with, asked.begin_with)
    finder = _finder(asked, base, PRECISIONS[precision], begun_with).to(device) if asked.judge else encoder
    figures = _figures_of(learner, finder, base, list(held_out.values()))
    course = Course()
    if training:
        batches = _batches(asked, learner, finder, base, sources)
        steps = asked.steps or max(1, round(asked.epochs * batches.steps_of_an_epoch))
        questions = sum(len(source.questions) for source in sources)
        if past := sum(len(source.first(asked.fraction).questions) for source in training.values()) - questions:
            console.print(
                f"left out: {past} questions whose answers are past the {base.longest_passage} tokens that are seen"
            )
        passages = sum(len(source.passages) for source in sources)
        console.print(
            f"{questions} questions, {passages} passages, {steps} steps"
            f" ({batches.steps_of_an_epoch} an epoch), {precision} on {device.type}"
        )
        look = asked.look or batches.steps_of_an_epoch
        taught: Iterable[Any] = batches
        if pages is not None:
            console.print(f"{len(pages.pairs)} sections of pages, {asked.sections} a step")
            taught = zip(batches, PageBatches(pages, asked.sections, asked.seed), strict=False)
        with _mapping(asked.workers) as mapped:
            loss = _loss_of(learner, base, mapped, has_pages=pages is not None)
            course = _train(learner, taught, loss, Plan(steps, asked.rate), checkpoint, figures, look, asked.out)
    if asked.share != 1:
        encoder.average_with_base(base.weights, asked.share)
    if held_out:
        course.figures.append(figures(course.step))
        print("\n".join(_lines(course.figures[-1])), flush=True)
    write_update(_learned(learner), asked.out)
    made = {
        "update": {"file": asked.out.name, "sha256": sha256_of(asked.out), "rank": rank},
        **identity,
        "precision": precision,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "processor",
        "threads": torch.get_num_threads(),
        "versions": {"kb": kb.__version__, "torch": torch.__version__},
        "steps": course.step,
        "hours": round(course.seconds / 3600, 2),
        "losses": course.losses,
        "figures": course.figures,
    }
    record = _beside(asked.out, ".json")
    record.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    checkpoint.path.unlink(missing_ok=True)
    print(f"{asked.out} and {record.name}")


def _finder(
    asked: argparse.Namespace, base: Base, precision: torch.dtype, update: Mapping[str, Floats] | None
) -> Encoder:
    """The encoder whose vectors give a judge its passages: the base with the update that the judge begins with."""
    finder = Encoder(base.weights, rank_of(update) if update else 1, precision)
    if update:
        _begin_with(finder, update, asked.begin_with)
    return finder


def _batches(
    asked: argparse.Namespace, learner: Encoder | Judge, finder: Encoder, base: Base, sources: Sequence[Source]
) -> Batches | Readings:
    if isinstance(learner, Judge):
        near = [near_passages(finder, base, source) for source in sources]
        return Readings(sources, near, base, asked.passages, asked.seed)
    near = [neighbours(learner, base, source) for source in sources]
    return Batches(sources, near, Recipe(asked.passages, asked.cut), asked.seed)


def _loss_of(
    learner: Encoder | Judge, base: Base, mapped: Mapped, *, has_pages: bool
) -> Callable[[Any], tuple[Tensor, dict[str, float]]]:
    if isinstance(learner, Judge):
        return partial(reading_loss, learner)
    return partial(paired_loss if has_pages else encoder_loss, learner, base, mapped=mapped)


def _figures_of(
    learner: Encoder | Judge, finder: Encoder, base: Base, held_out: list[Source]
) -> Callable[[int], dict[str, Any]]:
    """The held-out figures after a step, as the record has them."""
    if isinstance(learner, Judge):
        return partial(judge_record, learner, finder, base, held_out)
    return lambda step: record_of(step, *held_out_figures(learner, base, held_out))


def _lines(record: Mapping[str, Any]) -> list[str]:
    return judge_lines(record) if "judge" in record else lines_of(record)


def _train(
    learner: Encoder | Judge,
    batches: Iterable[Any],
    loss: Callable[[Any], tuple[Tensor, dict[str, float]]],
    plan: Plan,
    checkpoint: Checkpoint,
    figures: Callable[[int], dict[str, Any]],
    look: int,
    out: Path,
) -> Course:
    console = Console(stderr=True, markup=False, highlight=False)
    with _bar(console) as bar, _stop_asked() as stop:
        task = bar.add_task("training", total=plan.steps, state="")

        def told(course: Course) -> None:
            bar.update(task, completed=course.step)
            if not course.recent:
                line = _loss_line(course, plan.steps)
                bar.update(task, state=line.partition("  ")[2])
                if not console.is_terminal:
                    print(line, flush=True)
            if course.step % look == 0 and course.step < plan.steps:
                write_update(_learned(learner), out)
                if checkpoint.identity["held_out"]:
                    course.figures.append(figures(course.step))
                    bar.console.print("\n".join([f"after step {course.step}", *_lines(course.figures[-1])]))

        return train(learner, batches, loss, plan, checkpoint, told=told, stops=lambda: bool(stop))


@contextmanager
def _mapping(workers: int) -> Iterator[Mapped]:
    """`map`, over as many processes as there are workers, if more than one."""
    if workers < 2:
        yield map
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=8)


def _loss_line(course: Course, steps: int) -> str:
    parts = [
        f"{name.replace('_', ' ')} {value:.3f}" for name, value in course.losses[-1].items() if name not in _COUNTS
    ]
    return f"{course.step}/{steps}  {course.seconds:.0f} s  {', '.join(parts)}"


def _sources(paths: Sequence[Path], checkouts: Path | None, console: Console) -> dict[Path, Source]:
    """The files' questions; a file whose passages are in a repository that is not there is told of and left out."""
    sources = {}
    for path in source_files(paths):
        try:
            sources[path] = read_source(path, checkouts)
        except CheckoutMissing as error:
            console.print(f"left out: {error} ({error.hint})", soft_wrap=True)
    if paths and not sources:
        raise BadData(paths[0], None, "no file is left to read")
    return sources


def _identity(
    asked: argparse.Namespace, training: Mapping[Path, Source], held_out: Mapping[Path, Source], base: Base, rank: int
) -> dict[str, Any]:
    """What makes a training the one it is, as the checkpoint and the record hold it; no path of a machine."""
    settings = (
        "judge",
        "seed",
        "epochs",
        "steps",
        "rate",
        "passages",
        "sections",
        "cut",
        "fraction",
        "share",
        "precision",
        "look",
        "dropout",
    )
    return {
        "base": {"sha256": base.sha256},
        "begun_with": None if asked.begin_with is None else {"sha256": sha256_of(asked.begin_with)},
        "asked": {"rank": rank, **{name: getattr(asked, name) for name in settings}},
        "data": [_counted(source) for source in training.values()],
        "held_out": [_counted(source) for source in held_out.values()],
    }


def _counted(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "sha256": source.sha256,
        "passages": len(source.passages),
        "questions": len(source.questions),
        "kinds": dict(sorted(Counter(question.kind for question in source.questions).items())),
        "languages": dict(sorted(Counter(question.language for question in source.questions).items())),
    }


def _faster(base: Base, rank: int, sources: Sequence[Source], device: torch.device, console: Console) -> str:
    """The precision in which a small step takes less time here."""
    texts = [base.passage_ids(passage.encoded_text()) for source in sources for passage in source.passages[:4]]
    if not texts:
        return "float32"
    seconds = seconds_by_precision(base.weights, rank, texts, device)
    name = min(seconds, key=lambda each: seconds[each])
    console.print(", ".join(f"{each}: {taken:.2f} s" for each, taken in seconds.items()) + f"; so {name}")
    return name


def _begin_with(learner: Encoder | Judge, update: Mapping[str, Floats], path: Path) -> None:
    try:
        learner.set_learned(update)
    except ValueError as error:
        raise BadData(path, None, str(error)) from error


def _learned(learner: Encoder | Judge) -> dict[str, Floats]:
    return {name: parameter.detach().cpu().numpy() for name, parameter in learner.learned()}


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.removesuffix(".npz") + suffix)


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.fields[state]}"), console=console, disable=not console.is_terminal)


def _fetching(bar: Progress) -> Any:
    tasks: dict[str, Any] = {}

    def told(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(f"base: {stage}", state="")
        bar.update(tasks[stage], completed=done, total=total)

    return told


@contextmanager
def _stop_asked() -> Any:
    """A list that gets an entry with the first Ctrl-C or SIGTERM; the second Ctrl-C ends at once."""
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        asked.append(number)
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, note)
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tools/train", description=__doc__, epilog=_EXAMPLES, formatter_class=form)
    add = parser.add_argument_group("files").add_argument
    add(
        "--data",
        type=Path,
        nargs="+",
        metavar="PATH",
        default=[_CHECKOUT / "benchmarks/training"],
        help="files of questions, or folders of them (benchmarks/training)",
    )
    add(
        "--held-out",
        type=Path,
        nargs="+",
        metavar="PATH",
        default=[],
        help="files or folders whose questions are asked of all their passages together, epoch by epoch",
    )
    add(
        "--checkouts",
        type=Path,
        metavar="DIR",
        help="the folder of the repositories that passages are taken from (benchmarks/training/README.md)",
    )
    add(
        "--pages",
        type=Path,
        metavar="TABLE",
        help="also learn from documentation in both languages: the table of its repositories, which are in --checkouts"
        " (benchmarks/training/pages.tsv); not for a judge",
    )
    add("--out", type=Path, metavar="FILE", help="the update (.cache/training/encoder_update.npz)")
    add("--base", type=Path, metavar="FILE", help="the base's 4-bit weights (those kb installs, fetched at first)")
    add("--begin-with", type=Path, metavar="FILE", help="an update to begin with, of any rank")
    add("--cache", type=Path, metavar="DIR", default=_CHECKOUT / ".cache/training", help="where the base is kept")
    add("--fresh", action="store_true", help="do not go on from the checkpoint")
    add = parser.add_argument_group("training").add_argument
    add(
        "--judge",
        action="store_true",
        help="train a judge of whether a passage answers, beginning with the encoder's update of --begin-with;"
        " --passages is then the number of questions a step, each beside up to four passages",
    )
    add("--epochs", type=_positive, default=4.0, metavar="N", help="how often each passage is seen (%(default)s)")
    add("--steps", type=_count, metavar="N", help="so many steps instead; 0 trains nothing")
    add("--rate", type=_positive, default=4e-4, metavar="R", help="the highest learning rate (%(default)s)")
    add(
        "--rank",
        type=int,
        choices=range(1, 129),
        default=24,
        metavar="N",
        help="of the update's matrices (%(default)s)",
    )
    add("--passages", type=int, choices=range(4, 1025), default=34, metavar="N", help="of a step (%(default)s)")
    add("--sections", type=_positive_count, default=96, metavar="N", help="of pages, a step (%(default)s)")
    add("--cut", type=_count, default=6, metavar="N", help="so many of them again without an answer (%(default)s)")
    add("--fraction", type=_share, default=1.0, metavar="F", help="use the first part of each file alone (%(default)s)")
    add(
        "--share",
        type=_share,
        default=1.0,
        metavar="F",
        help="write the average of so much of what was learned with the base (%(default)s)",
    )
    add("--dropout", type=_portion, default=0.0, metavar="F", help="of each layer's outputs, in training (%(default)s)")
    add(
        "--look",
        type=_count,
        default=0,
        metavar="N",
        help="write what was learned, and held-out figures, each N steps (an epoch)",
    )
    add("--seed", type=int, default=1, metavar="N", help="of the first matrices and the order (%(default)s)")
    add = parser.add_argument_group("machine").add_argument
    add("--device", choices=("cpu", "cuda"), help="(cuda where there is one)")
    add("--precision", choices=sorted(PRECISIONS), help="(the one that is faster here, measured at the start)")
    add("--threads", type=int, metavar="N", help="(as many as PyTorch takes)")
    add("--workers", type=_count, default=1, metavar="N", help="processes that cluster tokens; a GPU waits for them")
    asked = parser.parse_args(arguments)
    if asked.judge and asked.pages:
        parser.error("--pages teaches the encoder, not a judge")
    asked.out = asked.out or asked.cache / "encoder_update.npz"
    return asked


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _portion(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to below 1")
    return value


def _share(text: str) -> float:
    value = _positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is above 1")
    return value


def _positive_count(text: str) -> int:
    return int(_positive(text))


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
