"""Runs a command in a network of its own, where every address is this machine, and writes down whom it spoke to.

    unshare --user --map-root-user --net python watch_packets.py OUT COMMAND …

OUT gets a line for each address and port that a packet went to: the first of a TCP connection, any of UDP. Nothing
leaves the machine, as there is nothing but the loopback interface; needs Linux and user namespaces, not root.
"""

from __future__ import annotations

import ipaddress
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

_SET_UP = (
    "ip link set lo up",
    "ip route add local default dev lo",
    "ip -6 route add local ::/0 dev lo",
)
_ALL_PROTOCOLS = 3
_IPV4, _IPV6 = 4, 6
_TCP, _UDP = 6, 17
_SYN, _ACK = 0x02, 0x10
# Goes last, to an address that documentation alone uses: when it is seen, all packets before it have been.
_END = ("192.0.2.1", 9)


def main() -> int:
    """The command's exit code."""
    out, *command = sys.argv[1:]
    for line in _SET_UP:
        subprocess.run(line.split(), check=not line.startswith("ip -6"))
    spoken: list[tuple[str, int]] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        watching = Thread(target=lambda: spoken.extend(_until_the_end(packets)))
        watching.start()
        code = subprocess.run(command, check=False).returncode
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", _END)
        watching.join()
    Path(out).write_text("".join(f"{address} {port}\n" for address, port in spoken), encoding="utf-8")
    return code


def _until_the_end(packets: socket.socket) -> Iterator[tuple[str, int]]:
    while True:
        data, (_, _, kind, *_) = packets.recvfrom(1 << 16)
        spoken = _spoken_to(data) if kind == socket.PACKET_OUTGOING else None
        if spoken == _END:
            return
        if spoken is not None:
            yield spoken


def _spoken_to(packet: bytes) -> tuple[str, int] | None:
    """Whom a packet begins to speak to; None for one of a connection that is there, and for what is neither."""
    with suppress(IndexError, ValueError):
        if packet[0] >> 4 == _IPV4:
            protocol, address, body = packet[9], packet[16:20], packet[4 * (packet[0] & 15) :]
        elif packet[0] >> 4 == _IPV6:
            protocol, address, body = packet[6], packet[24:40], packet[40:]
        else:
            return None
        begins = protocol == _UDP or (protocol == _TCP and body[13] & (_SYN | _ACK) == _SYN)
        return (str(ipaddress.ip_address(address)), int.from_bytes(body[2:4], "big")) if begins else None
    return None


if __name__ == "__main__":
    sys.exit(main())
