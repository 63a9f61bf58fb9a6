"""`kb ask`: one question, answered from the notes or refused."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from kb.cli.call import (
    Call,
    Number,
    QuestionCommand,
    WholeNumber,
    filter_options,
    help_option,
    json_option,
    mode_option,
    option,
    pass_call,
)
from kb.cli.output.answer import show_answer, show_short, show_tokens
from kb.cli.output.printing import print_json
from kb.cli.output.terminal import question_of
from kb.domain.answers import AskEvent
from kb.domain.filters import SearchFilters
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchMode
from kb.errors import UsageError
from kb.operations.answers.last_shown import shown_answer
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import request_for


@click.command(
    "ask",
    cls=QuestionCommand,
    epilog="""\b
Examples:
  kb ask "청킹 규칙은?"
  kb ask 게이트웨이 재시도 횟수                     # several words need no quotes
  kb ask "How often does the gateway retry?" --explain
  kb ask "배터리는 언제 교체하나?" --short            # only the line that answers, and its place
  kb ask --deep "업로드는 몇 번 재시도하고 배터리는 몇 시간 버티나?"
  kb ask "배터리는 몇 시간 버티나?" --session 점검     # begins a conversation
  kb ask "그럼 언제 교체해?" --session 점검          # goes on with it
  kb ask "retry policy" --provider extractive     # no language model, only your own sentences
  kb ask "인증 토큰 만료는?" --json | jq -r '.citations[].citation.uri'
  kb ask - < question.txt                         # the question on standard input
  kb open 1                                       # opens the first citation just shown
""",
)
@click.argument("question", nargs=-1)
@option("-k", "--k", "k", type=WholeNumber(1, 1000), help="Number of passages to retrieve [default: search.default_k].")
@mode_option
@filter_options
@option(
    "--provider",
    type=click.Choice(["auto", "ollama", "llama_cpp", "extractive"]),
    help="What writes the answer [default: models.llm.provider].",
)
@option("--temperature", type=Number(0, 2), help="0 gives the same answer every time.")
@option("--seed", type=int, help="Seed for temperatures above 0.")
@option("--session", "session_id", metavar="NAME", help="Continue this conversation, or begin it.")
@option("--deep", is_flag=True, help="In steps: search for each part of the question, then for what is still missing.")
@option("--short", is_flag=True, help="Show only what answers and its place.")
@option("--explain", is_flag=True, help="Show the source of each sentence, and how the passages were found.")
@option("--stream", is_flag=True, help="With --json: print answer_event.v1 lines as they come, then answer.v1.")
@json_option("Print answer.v1.")
@help_option
@pass_call
def ask_command(
    call: Call,
    question: tuple[str, ...],
    k: int | None,
    mode: SearchMode | None,
    filters: SearchFilters,
    provider: str | None,
    temperature: float | None,
    seed: int | None,
    session_id: str | None,
    deep: bool,
    short: bool,
    explain: bool,
    stream: bool,
    as_json: bool,
) -> int:
    """Answer a question from your own notes, each sentence with its source, or say that they hold no answer.

    A language model (on Ollama, or in a GGUF file) writes the answer. Without one, kb quotes your own sentences word
    for word. Notes about the answer are in Korean for a Korean question, otherwise in English. Exit code 0 when kb is
    sure of the answer, 1 when it is unsure or refuses.
    """
    config = call.config
    text = question_of(question)
    if not text.strip():
        raise UsageError("no question", 'example: kb ask "청킹 규칙은?"')
    if stream and not as_json:
        raise UsageError("--stream goes with --json", "on a terminal an answer is shown as it comes anyway")
    if session_id is not None and not session_id.strip():
        raise UsageError("the name of a session is empty", "example: --session 점검")
    query = call.session.defaults.query(text, mode, k, filters)
    request = request_for(query)._replace(provider=provider, temperature=temperature, seed=seed, session_id=session_id)
    if deep:
        request = request._replace(depth=config.rag.deep_steps)
    if as_json:
        tell: Callable[[AskEvent], None] = print_json if stream else lambda event: None
        answer = ask(call.session, request, RunHandle(tell))
        call.remember(shown_answer(answer))
        print_json(answer)
    else:
        with show_tokens(live=sys.stdout.isatty() and not short) as tokens:
            answer = ask(call.session, request, RunHandle(tokens.take))
        call.remember(shown_answer(answer))
        if short:
            show_short(answer)
        else:
            show_answer(answer, explain=explain or config.rag.explain_default, shown=tokens.shown)
    return 0 if answer.state == "answered" else 1
