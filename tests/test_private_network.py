"""Nothing leaves the machine: what the system saw of each command's connections, and of the files it left behind."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from conftest import make_vault, run_kb, write_notes

from kb.private import QUIET, fetching, kept_private
from kb.workers.pool import Returned, Tell, WorkerPool

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", "/nonexistent"))
MEDIA = Path(__file__).parents[1] / "fixtures" / "media"

# All that kb loads, here or there. hf_xet, which logs when it is loaded, huggingface_hub no longer loads.
LIBRARIES = (
    "onnxruntime fastembed huggingface_hub huggingface_hub.file_download tokenizers lancedb pyarrow kiwipiepy pymupdf "
    "av pywhispercpp numpy apsw sqlite_vec markdown_it pydantic rich yaml blake3"
).split()

_ADDRESS = re.compile(r'sa_family=AF_INET6?, .*?port=htons\((\d+)\).*?"([^"]+)"')
_SENDING = "connect,sendto,sendmsg,sendmmsg"
_OWN_NETWORK = ("unshare", "--user", "--map-root-user", "--net")


def has_strace() -> bool:
    """Whether strace is here, and may follow a process."""
    return (
        shutil.which("strace") is not None
        and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"]).returncode == 0
    )


def has_own_network() -> bool:
    """Whether a process may have a network of its own, without root: user namespaces, and the programs for them."""
    programs = all(shutil.which(program) for program in ("unshare", "ip"))
    return programs and subprocess.run([*_OWN_NETWORK, "true"], capture_output=True).returncode == 0


def traced(command: Sequence[str], trace: Path, env: Mapping[str, str]) -> tuple[int, str, set[tuple[str, int]]]:
    """Exit code, errors, and who was spoken to as the system calls tell."""
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", f"trace={_SENDING}", "-o", str(trace)]
    done = subprocess.run([*strace, *command], env=env, capture_output=True, text=True, check=False)
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    spoken = {(address, int(port)) for line in lines if "(" in line for port, address in _ADDRESS.findall(line)}
    return done.returncode, done.stderr, spoken


def isolated(command: Sequence[str], trace: Path, env: Mapping[str, str]) -> tuple[int, str, set[tuple[str, int]]]:
    """The same as the packets tell, in a network where every address is this machine."""
    watch = [*_OWN_NETWORK, sys.executable, str(Path(__file__).with_name("watch_packets.py")), str(trace)]
    done = subprocess.run([*watch, *command], env=env, capture_output=True, text=True, check=False)
    spoken = {(address, int(port)) for address, port in map(str.split, trace.read_text(encoding="utf-8").splitlines())}
    return done.returncode, done.stderr, spoken


WAYS = {traced: has_strace, isolated: has_own_network}


class Watched:
    """A HOME of its own, and processes whose connections are written down in the first of the ways that work here."""

    def __init__(self, directory: Path, way: Callable[..., tuple[int, str, set[tuple[str, int]]]]) -> None:
        self.home = directory / "watched-home"
        self.home.mkdir()
        self._trace = directory / "trace"
        self._way = way

    def run(self, *command: str, **env: str) -> set[tuple[str, int]]:
        """Address and port of everything that the command and the processes it starts spoke to."""
        paths = os.pathsep.join(path for path in sys.path if path)
        surroundings = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": paths, **env}
        code, errors, spoken = self._way(command, self._trace, surroundings)
        assert code in (0, 1), errors
        return spoken

    def kb(self, *args: str) -> set[tuple[str, int]]:
        """The same of one call of kb."""
        return self.run(sys.executable, "-m", "kb", *args)

    @property
    def files(self) -> set[str]:
        """What has been made below HOME."""
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    way = next((way for way, works in WAYS.items() if works()), None)
    if way is None:
        pytest.skip("neither strace nor a network of its own (unshare and ip, user namespaces) shows who is spoken to")
    return Watched(tmp_path, way)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that nothing answers on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


def loading(*libraries: str, private: bool) -> tuple[str, ...]:
    """A command that loads the libraries, kept private or not."""
    imports = "\n".join(f"    import {name}" for name in libraries)
    keeping = "with kept_private():" if private else "if True:"
    return sys.executable, "-c", f"from kb.private import kept_private\n{keeping}\n{imports}"


@pytest.mark.slow
def test_no_library_speaks_to_anybody_or_leaves_a_file_at_home(watched: Watched) -> None:
    assert watched.run(*loading(*LIBRARIES, private=True)) == set()
    assert watched.files == set()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_watching_sees_a_connection_and_a_file(
    way: Callable[..., tuple[int, str, set[tuple[str, int]]]], tmp_path: Path, closed_port: int
) -> None:
    if not WAYS[way]():
        pytest.skip(f"{way.__name__} does not work here")
    watched = Watched(tmp_path, way)
    program = (
        "import socket, pathlib; pathlib.Path.home().joinpath('x').touch(); "
        f"socket.socket().connect_ex(('127.0.0.1', {closed_port})); "
        f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', {closed_port}))"
    )
    assert watched.run(sys.executable, "-c", program) == {("127.0.0.1", closed_port)}
    assert watched.run(sys.executable, "-c", "pass") == set()
    assert watched.files == {"x"}


@pytest.mark.slow
def test_no_command_speaks_to_anybody_but_the_configured_endpoint(
    watched: Watched, tmp_path: Path, closed_port: int
) -> None:
    vault = make_vault(tmp_path)
    write_notes(vault.root)
    for name in ("pdf/tables-en.pdf", "pdf/scan-ko.pdf", "images/en.png", "speech/korean.m4a"):
        shutil.copy(MEDIA / name, vault.root)
    endpoint = ("127.0.0.1", closed_port)
    settings = ["--config", str(vault.config), "--set", f"models.llm.endpoint=http://127.0.0.1:{closed_port}"]
    if MODELS.is_dir():
        settings += ["--set", f"storage.model_dir={MODELS}", "--set", "search.mode=hybrid"]
    assert watched.kb(*settings, "ingest") == set()
    assert watched.kb(*settings, "search", "게이트웨이 retries") == set()
    assert watched.kb(*settings, "ask", "How often does the gateway retry?", "--provider", "extractive") == set()
    assert watched.kb(*settings, "index", "--rebuild-fts") == set()
    assert watched.kb(*settings, "models", "list") == set()
    assert watched.kb(*settings, "ask", "How often does the gateway retry?") <= {endpoint}
    made = {name for name in watched.files if not name.startswith(".cache/kb/")}
    assert made == set()


@pytest.mark.slow
def test_the_configured_endpoint_is_still_spoken_to(watched: Watched, tmp_path: Path, closed_port: int) -> None:
    vault = make_vault(tmp_path)
    settings = ["--config", str(vault.config), "--set", f"models.llm.endpoint=http://127.0.0.1:{closed_port}"]
    assert run_kb(*settings, "ingest", "--no-embed").code == 0
    asked = watched.kb(*settings, "--set", "rag.score_gate=0", "ask", "How often does the gateway retry?")
    assert asked == {("127.0.0.1", closed_port)}


def test_what_the_users_shell_says_does_not_switch_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    with kept_private():
        assert {name: os.environ[name] for name in QUIET} == QUIET
    assert os.environ["HF_HUB_OFFLINE"] == "0"
    assert "DO_NOT_TRACK" not in os.environ


def test_only_fetching_a_model_asks_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HOME", raising=False)
    with kept_private():
        with fetching(tmp_path):
            assert (os.environ["HF_HUB_OFFLINE"], os.environ["HF_HOME"]) == ("0", str(tmp_path))
            assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        assert "HF_HOME" not in os.environ


def test_someone_who_is_offline_on_purpose_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with kept_private(), fetching(tmp_path):
        assert os.environ["HF_HUB_OFFLINE"] == "1"


def surroundings(tell: Tell) -> tuple[str, int]:
    return os.environ["ORT_DISABLE_TELEMETRY"], os.umask(0)


def test_a_worker_is_kept_private_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started with the environment and umask of the process that starts them, and see to it themselves."""
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, surroundings) == Returned(("1", 0o77))


_PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{url}/talk.ts\n#EXT-X-ENDLIST\n"
_SESSION = "v=0\no=- 0 0 IN IP4 {host}\ns=talk\nc=IN IP4 {host}\nt=0 0\nm=audio {port} RTP/AVP 0\n"
_LIST = "ffconcat version 1.0\nfile {url}/talk.mp3\n"


@pytest.mark.parametrize("text", [_PLAYLIST, _SESSION, _LIST], ids=["playlist", "session description", "list"])
def test_a_recording_that_names_others_opens_no_socket(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av")
    from kb.errors import ExtractFailed
    from kb.extract.sound import duration_ms

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = text.format(url=f"http://127.0.0.1:{port}", host="127.0.0.1", port=port).encode()
    with pytest.raises(ExtractFailed, match="not a recording"):
        duration_ms(data)


def test_every_kind_of_recording_is_still_read() -> None:
    av = pytest.importorskip("av")
    import io

    from kb.extract.sound import duration_ms

    for name, codec in (
        ("wav", "pcm_s16le"), ("mp3", "libmp3lame"), ("ipod", "aac"), ("flac", "flac"), ("ogg", "flac"),
    ):  # fmt: skip
        file = io.BytesIO()
        with av.open(file, mode="w", format=name) as container:
            stream = container.add_stream(codec, rate=16_000)
            frame = av.AudioFrame(format=stream.format.name, layout=stream.layout.name, samples=1024)
            frame.rate = 16_000
            for plane in frame.planes:
                plane.update(bytes(plane.buffer_size))
            for packet in (*stream.encode(frame), *stream.encode(None)):
                container.mux(packet)
        assert duration_ms(file.getvalue()) is not None, name
