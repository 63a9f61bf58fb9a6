"""Connects to the Dask scheduler that the user runs, or starts a local one."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kb.errors import ClusterFailed, ConfigError, worded

LOCAL = "local"

_CONNECT_S = 15


class ClusterAddress(NamedTuple):
    """The address of a cluster, and the most bytes of tasks and results that may be under way at a time."""

    address: str
    is_insecure: bool
    in_flight_bytes: int
    processes: int
    environment: Mapping[str, str]


def is_in_clear(address: str) -> bool:
    """Whether an address leads to another machine without encryption."""
    parts = urlsplit(address)
    return parts.scheme != "tls" and not _is_here(parts.hostname or "")


def _is_here(host: str) -> bool:
    """Whether each address of a host belongs to this machine: only such an address can be bound."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as bound:
                bound.bind(place)
    except OSError:
        return False
    return bool(found)


def connected(place: ClusterAddress) -> tuple[Any, Any]:
    """A client of the scheduler, and the local cluster if one was started. Raises: ConfigError, ClusterFailed."""
    if place.address != LOCAL and is_in_clear(place.address) and not place.is_insecure:
        raise ConfigError(
            f"compute.scheduler {place.address} would carry your notes over the network in clear",
            "use tls:// (docs/cluster.md), or set compute.insecure = true on a network you trust",
        )
    import dask
    from distributed import Client, LocalCluster

    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})
    own = None
    try:
        if place.address == LOCAL:
            own = LocalCluster(
                n_workers=place.processes,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                env=dict(place.environment),
            )
        client = Client(own or place.address, timeout=_CONNECT_S, set_as_default=False, name="kb")
    except (OSError, ValueError, TypeError) as error:  # TypeError: tls:// without certificates
        if own is not None:
            own.close()
        hint = "is it running? dask scheduler starts one; docs/cluster.md"
        raise ClusterFailed(f"no Dask scheduler at {place.address}: {worded(error)}", hint) from error
    return client, own


def lost(address: str, cause: BaseException | None) -> ClusterFailed:
    why = f": {worded(cause)}" if cause is not None else ""
    return ClusterFailed(
        f"the Dask scheduler at {address} is gone{why}", "what came back is kept; kb ingest goes on from here"
    )


def tasks_lost_with(client: Any, gone: Iterable[str]) -> Counter[str]:
    """For each task, by key, how many of these workers that are gone were lost with it, as the scheduler noted."""
    events = (event for address in gone for _, event in client.get_events(address))
    lost_workers = (event for event in events if event["action"] == "remove-worker" and not event["expected"])
    return Counter(key for event in lost_workers for key in event["processing-tasks"])
