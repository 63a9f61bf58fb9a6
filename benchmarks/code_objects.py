"""How well Kubernetes objects, Dockerfiles, CI jobs and packages are found by kind and name, in files packages ship.

What there is to ask for is read by PyYAML, tomllib, json and an XML parser, not by kb; questions are drawn from
templates in English and Korean, name first or kind first. Documentation and source files of the same packages lie
beside them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import yaml

from benchmarks.code_set import SEED, fetch_packages
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Table, Target
from kb.domain.citations import cited_lines
from kb.domain.kinds import media_type_of
from kb.domain.search import Passage, SearchQuery
from kb.extract.code.left_out import reason_left_out
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

CHOSEN_ON = (("kopf", "feast"), (), ("prometheus",))
HELD_OUT = (("kr8s", "dask-kubernetes"), (), ("kubernetes", "etcd"))
"""Packages of PyPI, npm and Debian: those by which kb's rules were tried, and others."""

PER_KIND = 60
_DEPTH = 10
# An object that stands in more files than this is asked of none.
_MOST_PLACES = 3
_MOST_OTHERS = 150
_MOST_BYTES = 300_000

# What people call kinds of Kubernetes in Korean: as its documentation in Korean spells them.
_KOREAN = {
    "Deployment": "디플로이먼트",
    "Service": "서비스",
    "ConfigMap": "컨피그맵",
    "Secret": "시크릿",
    "Ingress": "인그레스",
    "StatefulSet": "스테이트풀셋",
    "DaemonSet": "데몬셋",
    "ReplicaSet": "레플리카셋",
    "ReplicationController": "레플리케이션 컨트롤러",
    "Pod": "파드",
    "Job": "잡",
    "CronJob": "크론잡",
    "Namespace": "네임스페이스",
    "PersistentVolume": "퍼시스턴트볼륨",
    "PersistentVolumeClaim": "퍼시스턴트볼륨클레임",
    "StorageClass": "스토리지클래스",
    "ServiceAccount": "서비스어카운트",
    "Role": "롤",
    "RoleBinding": "롤바인딩",
    "ClusterRole": "클러스터롤",
    "ClusterRoleBinding": "클러스터롤바인딩",
    "NetworkPolicy": "네트워크폴리시",
    "CustomResourceDefinition": "커스텀 리소스 데피니션",
}
_TEMPLATES = {
    "kubernetes": (
        "Kubernetes {kind} named {name}",
        "{name} {kind}",
        "Where is the {words} {name} defined?",
        "Which manifest declares the {kind} {name}?",
        "{name} 이름의 쿠버네티스 {kind}",
        "쿠버네티스 {korean} {name}",
        "{name}라는 {korean}",
        "{kind} {name}는 어디에 정의돼 있나?",
    ),
    "stage": (
        "Dockerfile stage {name}",
        "the build stage {name}",
        "{name} 빌드 스테이지",
        "도커파일의 {name} 스테이지",
    ),
    "image": (
        "Dockerfile with the base image {name}",
        "base image {name}",
        "{name} 이미지를 쓰는 Dockerfile",
        "베이스 이미지 {name}",
    ),
    "compose": ("compose service {name}", "the {name} service of docker compose", "컴포즈 서비스 {name}"),
    "job": ("GitHub Actions job {name}", "CI job {name}", "{name} 워크플로 잡", "깃허브 액션 작업 {name}"),
    "package": (
        "package {name}",
        "Where is the package {name} declared?",
        "{name} 패키지",
        "패키지 {name}의 매니페스트",
    ),
}


class Declared(NamedTuple):
    """An object and a line of it."""

    group: str
    kind: str
    name: str
    path: str
    line: int


def measure_objects(cache: Path) -> tuple[tuple[Table, ...], tuple[Target, ...]]:
    """Of questions for one object each, how many have it first, and among ten."""
    rows = []
    targets = []
    for label, packages in (("chosen on", CHOSEN_ON), ("held out", HELD_OUT)):
        root = fetch_packages(cache / "objects" / label.replace(" ", "-"), *packages)
        asked = _ask(root)
        for group in (*_TEMPLATES, "all"):
            ranks = [rank for each, rank in asked if group in (each, "all")]
            first, ten = (sum(0 < rank <= depth for rank in ranks) / max(1, len(ranks)) for depth in (1, _DEPTH))
            rows.append((label, group, len(ranks), round(first, 3), round(ten, 3)))
        if asked:
            targets.append(Target(f"objects, {label}: first", rows[-1][3], "≥", 0.9))
    columns = ("packages", "object", "questions", "first", "among ten")
    return (Table("Objects by kind and name", columns, tuple(rows)),), tuple(targets)


def _ask(root: Path) -> list[tuple[str, int]]:
    """The group of each question, and the rank of the first hit that holds the object; 0 where none does."""
    declared = [each for path in _declaring(root) for each in _declared(root, path)]
    asked = []
    with tempfile.TemporaryDirectory(prefix="kb-objects-") as folder, knowledge_base(Path(folder)) as base:
        for path in {*(each.path for each in declared), *_others(root)}:
            (base.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, base.root / path)
        base.ingest()
        with open_base(base.config) as session:
            for text, places in questions_of(declared):
                hits = search(session, SearchQuery(text, "lexical", _DEPTH)).hits
                rank = next((hit.rank for hit in hits if _holds(hit, places)), 0)
                asked.append((places[0].group, rank))
                if rank != 1 and os.environ.get("KB_CODE_MISSES"):
                    first = hits[0].citation.to_uri() if hits else "-"
                    print(f"{places[0].group}\t{text}\t{places[0].path}#L{places[0].line}\t{first}\t{rank}")
    return asked


def questions_of(declared: Sequence[Declared], seed: int = SEED) -> list[tuple[str, list[Declared]]]:
    """Questions and the places that answer them: every template of a group in turn."""
    places: dict[tuple[str, str, str], list[Declared]] = defaultdict(list)
    for each in declared:
        places[(each.group, each.kind, each.name)].append(each)
    found = []
    for group, templates in _TEMPLATES.items():
        objects = [held for key, held in sorted(places.items()) if key[0] == group and len(held) <= _MOST_PLACES]
        random.Random(seed).shuffle(objects)
        for at, held in enumerate(objects[:PER_KIND]):
            kind, name = held[0].kind, held[0].name
            words = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", kind)).lower()
            text = templates[at % len(templates)].format(
                kind=kind, name=name, words=words, korean=_KOREAN.get(kind, kind)
            )
            found.append((text, held))
    return found


def _holds(hit: Passage, places: Sequence[Declared]) -> bool:
    lines = cited_lines(hit.citation)
    return lines is not None and any(
        hit.doc_path == each.path and lines.start <= each.line <= lines.end for each in places
    )


def _declaring(root: Path) -> list[str]:
    """The files below `root` that may declare objects and that kb reads."""
    names = re.compile(
        r"\.ya?ml\Z|Dockerfile\Z|\Apackage\.json\Z|\Apyproject\.toml\Z|\ACargo\.toml\Z|\Ago\.mod\Z|\Apom\.xml\Z"
    )
    return [path for path in _files(root) if names.search(path.rpartition("/")[2])]


def _others(root: Path) -> list[str]:
    """Documentation, and of each package the first source files, which mention the same names."""
    kept: dict[str, int] = defaultdict(int)
    found = []
    for path in _files(root):
        package, is_note = path.partition("/")[0], path.endswith(".md")
        kept[package] += not is_note
        if is_note or kept[package] <= _MOST_OTHERS:
            found.append(path)
    return found


def _files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        kind = media_type_of(name)
        if kind is None or not path.is_file() or path.is_symlink() or path.stat().st_size > _MOST_BYTES:
            continue
        if not kind.startswith("code/") or reason_left_out(path.read_bytes(), name) is None:
            yield name


def _declared(root: Path, path: str) -> Iterator[Declared]:
    text = (root / path).read_text("utf-8", "replace")
    name = path.rpartition("/")[2]
    try:
        if name.endswith((".yaml", ".yml")):
            for node in yaml.compose_all(text, yaml.SafeLoader):
                yield from _of_yaml(node, path)
        elif name.endswith("Dockerfile"):
            yield from _of_dockerfile(text, path)
        elif found := _package(text, name):
            line = next(at for at, each in enumerate(text.split("\n"), 1) if found in each)
            yield Declared("package", "package", found, path, line)
    except (yaml.YAMLError, ValueError, ElementTree.ParseError, StopIteration):
        return  # templates, and files that show what is wrong


def _of_yaml(node: yaml.Node | None, path: str) -> Iterator[Declared]:
    fields = _fields(node)
    kind, name = _scalar(fields.get("kind")), _fields(fields.get("metadata")).get("name")
    if kind == "List" and isinstance(items := fields.get("items"), yaml.SequenceNode):
        for item in items.value:
            yield from _of_yaml(item, path)
    elif kind and "apiVersion" in fields:
        if name is not None and _scalar(name):
            yield Declared("kubernetes", kind, _scalar(name), path, name.start_mark.line + 1)
    elif ".github/workflows/" in path:
        for job, at in _keys(fields.get("jobs")):
            yield Declared("job", "job", job, path, at)
    elif "compose" in path.rpartition("/")[2]:
        for service, at in _keys(fields.get("services")):
            yield Declared("compose", "service", service, path, at)


def _of_dockerfile(text: str, path: str) -> Iterator[Declared]:
    stages: set[str] = set()
    for at, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].upper() != "FROM":
            continue
        image, *rest = [word for word in words[1:] if not word.startswith("--")]
        if image not in stages and "$" not in image:
            yield Declared("image", "image", image, path, at)
        if len(rest) > 1 and rest[0].upper() == "AS":
            stages.add(rest[1])
            yield Declared("stage", "stage", rest[1], path, at)


def _package(text: str, file_name: str) -> str:
    if file_name == "package.json":
        return str(json.loads(text).get("name", ""))
    if file_name == "go.mod":
        return next((line.split()[1] for line in text.split("\n") if line.startswith("module ")), "")
    if file_name == "pom.xml":
        return ElementTree.fromstring(text).findtext("{*}artifactId") or ""
    table = tomllib.loads(text)
    return str(
        (table.get("project") or table.get("package") or table.get("tool", {}).get("poetry", {})).get("name", "")
    )


def _fields(node: yaml.Node | None) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {_scalar(key): value for key, value in node.value}


def _keys(node: yaml.Node | None) -> list[tuple[str, int]]:
    if not isinstance(node, yaml.MappingNode):
        return []
    return [(_scalar(key), key.start_mark.line + 1) for key, _ in node.value]


def _scalar(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""
