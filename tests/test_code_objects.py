"""Objects of files around source code are found by what they are and their name, before what merely mentions them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, indexed_vault, kb_in

FILES = {
    "README.md": (
        "# Redis on Kubernetes\n\nThe Kubernetes Deployment named redis and the Service named redis-sentinel"
        " run a Redis cluster. The Service redis-sentinel is a Kubernetes Service; the Deployment redis is a"
        " Kubernetes Deployment. The redis-config ConfigMap is mounted."
        " 쿠버네티스 디플로이먼트 redis와 서비스 redis-sentinel을 쓴다.\n\n"
        "## Docker\n\nThe Dockerfile stage builder has the base image python:3.12-slim, the runtime one debian."
        " The compose service cache runs valkey. The GitHub Actions job lint-all runs ruff. The package"
        " fast-sender is ours.\n"
    ),
    "k8s/redis.yaml": (
        "# Redis.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  labels:\n    name: not-this\n  name: redis\n"
        "spec: {}\n"
        "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: redis-sentinel\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: redis\n"
    ),
    "k8s/list.yaml": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: redis-config\n"
        "- apiVersion: cert-manager.io/v1\n  kind: ClusterIssuer\n  metadata: {name: letsencrypt}\n"
        "- apiVersion: autoscaling/v2\n  kind: HorizontalPodAutoscaler\n  metadata:\n    name: web\n"
    ),
    "chart/templates/statefulset.yaml": (
        'apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {{ include "redis.fullname" . }}-master\n'
    ),
    "chart/Chart.yaml": "apiVersion: v2\nname: redis-chart\nversion: 1.0.0\n",
    "Dockerfile": (
        "FROM python:3.12-slim AS builder\nRUN pip wheel .\n\nFROM builder AS test\nRUN t\n\nFROM ghcr.io/a/debian\n"
    ),
    "old/Dockerfile": "FROM python:3.9 AS builder39\nRUN pip wheel .\n",
    "compose.yaml": "services:\n  web:\n    image: web\n  cache:\n    image: valkey\nvolumes:\n  data: {}\n",
    ".github/workflows/ci.yml": "on: push\njobs:\n  build:\n    runs-on: x\n  lint-all:\n    runs-on: x\n",
    ".gitlab-ci.yml": "stages: [a]\nvariables: {A: b}\nbuild:linux:\n  script: make\n",
    "pyproject.toml": '[build-system]\nrequires = []\n\n[project]\nname = "fast-sender"\n',
    "web/package.json": '{\n  "author": {\n    "name": "someone"\n  },\n  "name": "@corp/dashboard"\n}\n',
    "go.mod": "module github.com/corp/shipper/v2\n\ngo 1.22\n",
    "pom.xml": (
        "<project>\n  <parent>\n    <artifactId>base</artifactId>\n  </parent>\n  <groupId>com.corp</groupId>\n"
        "  <artifactId>ledger</artifactId>\n</project>\n"
    ),
    "rs/Cargo.toml": '[package]\nname = "hash-bag"\n\n[dependencies]\nlog = "1"\n',
    "src/redis.py": "def redis():\n    pass\n\n\nclass Service:\n    pass\n",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("objects"), FILES)


def first(vault: Vault, question: str) -> str:
    ran = kb_in(vault)("search", "--json", question)
    assert ran.code == 0, question
    return str(ran.lines[-1]["hits"][0]["citation"]["uri"])


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Kubernetes Deployment named redis", "k8s/redis.yaml#L1-L8"),
        ("redis Deployment", "k8s/redis.yaml#L1-L8"),
        ("redis deploy in k8s", "k8s/redis.yaml#L1-L8"),
        ("redis라는 디플로이먼트", "k8s/redis.yaml#L1-L8"),
        ("쿠버네티스 디플로이먼트 redis는 어디에 있나?", "k8s/redis.yaml#L1-L8"),
        ("redis-sentinel 이름의 쿠버네티스 Service", "k8s/redis.yaml#L9-L13"),
        ("Where is the Service redis-sentinel defined?", "k8s/redis.yaml#L9-L13"),
        ("redis-sentinel", "k8s/redis.yaml#L9-L13"),
        ("StatefulSet redis-master는 어디에 정의돼 있나?", "chart/templates/statefulset.yaml#L1-L4"),
        ("Deployment redis는 어느 파일에 선언되어 있나?", "k8s/redis.yaml#L1-L8"),
        ("쿠버네티스 서비스 redis", "k8s/redis.yaml#L14-L18"),
        ("컨피그맵 redis-config", "k8s/list.yaml#L1-L7"),
        ("the cluster issuer letsencrypt", "k8s/list.yaml#L8-L10"),
        ("web HPA", "k8s/list.yaml#L11-L14"),
        ("web 수평 파드 오토스케일러", "k8s/list.yaml#L11-L14"),
        ("redis-master stateful set", "chart/templates/statefulset.yaml#L1-L4"),
        ("스테이트풀셋 redis-master", "chart/templates/statefulset.yaml#L1-L4"),
        ("Dockerfile stage builder", "Dockerfile#L1-L2"),
        ("Dockerfile with base image python:3.12-slim", "Dockerfile#L1-L2"),
        ("python:3.9 이미지를 쓰는 도커파일", "old/Dockerfile#L1-L2"),
        ("debian base image", "Dockerfile#L7"),
        ("test 빌드 스테이지", "Dockerfile#L4-L5"),
        ("compose service cache", "compose.yaml#L4-L5"),
        ("컴포즈 서비스 web", "compose.yaml#L2-L3"),
        ("GitHub Actions job build", ".github/workflows/ci.yml#L3-L4"),
        ("lint-all 워크플로 잡", ".github/workflows/ci.yml#L5-L6"),
        ("the GitLab CI job build:linux", ".gitlab-ci.yml#L3-L4"),
        ("package fast-sender", "pyproject.toml#L4-L5"),
        ("fast-sender 패키지", "pyproject.toml#L4-L5"),
        ("npm package @corp/dashboard", "web/package.json#L5-L6"),
        ("Go module shipper", "go.mod#L1"),
        ("module github.com/corp/shipper/v2", "go.mod#L1"),
        ("Maven artifact com.corp:ledger", "pom.xml#L6-L7"),
        ("ledger 아티팩트", "pom.xml#L6-L7"),
        ("the crate hash-bag", "rs/Cargo.toml#L1-L2"),
        ("Helm chart redis-chart", "chart/Chart.yaml#L2"),
    ],
)
def test_an_object_is_found_by_its_kind_and_name_before_what_mentions_it(
    kept: Vault, question: str, place: str
) -> None:
    assert first(kept, question) == place


@pytest.mark.parametrize(
    "question",
    [
        "redis cluster",
        "how does the redis Deployment run a cluster",
        "what is mounted",
        "what does the runtime one have",
    ],
)
def test_what_asks_for_no_object_is_answered_by_notes(kept: Vault, question: str) -> None:
    assert first(kept, question).startswith("README.md")


def test_objects_are_listed_with_what_they_are(kept: Vault) -> None:
    listed = kb_in(kept)("list", "symbols", "--kind", "resource", "--json")
    assert {each["qualified_name"] for each in listed.lines} >= {"Deployment/redis", "ConfigMap/redis-config"}
    shown = kb_in(kept)("search", "--symbol", "Deployment/*", "redis").stdout
    assert "Deployment/redis (resource, yaml)" in shown
    assert kb_in(kept)("inspect", "symbol", "Service/redis").code == 0


def test_requirements_are_dependencies_where_they_are_read(tmp_path: Path) -> None:
    from kb.extract.code.sections import objects_of

    lines = ["# all", "numpy>=1.26", "-r other.txt", "uvicorn[standard]==0.30 ; python_version > '3'", "kiwipiepy"]
    found = [(each.start, each.name, each.kind) for each in objects_of(lines, "requirements", "requirements.txt")]
    assert found == [(2, "numpy", "dependency"), (4, "uvicorn", "dependency"), (5, "kiwipiepy", "dependency")]
