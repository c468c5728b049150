"""A server of `clarify` under load, on this machine: every message is compared with plain Python.

python -m benchmarks.load --episodes 10000 --sessions 64
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from askfirst.desk import Desk
from askfirst.serve.load import Load, Report, drive


def main() -> None:
    """Start a server, play against it and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--port", type=int, default=8765)
    given = parser.parse_args()
    command = [sys.executable, "-m", "askfirst", "serve", "env", "clarify", "--port", str(given.port)]
    server = subprocess.Popen([*command, "--sessions", str(given.sessions)], stderr=subprocess.PIPE)
    try:
        await_port(given.port, server)
        desk = Desk.named()
        report = drive(f"ws://127.0.0.1:{given.port}/ws", desk, Load(given.episodes, given.sessions))
        print(words(report, given.sessions, resident_mib(server.pid)))
    finally:
        server.terminate()
        server.wait()


def await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return when the server answers. Raises RuntimeError when it has ended."""
    import socket
    import time

    while server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the server ended with exit code {server.returncode}")


def words(report: Report, sessions: int, mib: float) -> str:
    """A line of figures."""
    return (
        f"{report.episodes} episodes, {report.messages} messages, {sessions} sessions at once: all as plain Python has "
        f"them; {report.wall_seconds:.0f} s, {report.episodes / report.wall_seconds:.0f} episodes/s, slowest answer "
        f"{report.slowest_seconds:.2f} s, server {mib:.0f} MiB, mean score {report.total / report.episodes:.4f}"
    )


def resident_mib(pid: int) -> float:
    """Resident memory of a process on Linux, elsewhere NaN."""
    status = Path(f"/proc/{pid}/status")
    if os.name != "posix" or not status.exists():
        return float("nan")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    return int(found[1]) / 1024 if found else float("nan")


if __name__ == "__main__":
    main()
