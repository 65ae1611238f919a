"""What `gridsum serve` bears: short sums under load, and memory.

    python benchmarks/serve.py [--json FILE] [--seconds N] [--rounds N]

A server of its own on the loopback, asked by wrk (apt-get install wrk) with a thousand different sums of two and three
terms of up to six digits, for a minute. Times on a shared machine mean little by themselves, so a 2048³ float32 product
timed in the same run stands beside them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.timing import product_rate

CONNECTIONS = 8
SUMS = 1000
_SCRIPT = """
local sums, turn = {%s}, 0
wrk.method, wrk.path = "POST", "/solve"
wrk.headers["content-type"] = "application/json"
request = function()
  turn = turn %% #sums + 1
  return wrk.format(nil, nil, nil, '{"expression": "' .. sums[turn] .. '"}')
end
done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local line = '{"requests": %%d, "seconds": %%f, "errors": %%d, "p50_ms": %%f, "p99_ms": %%f, "max_ms": %%f}\\n'
  io.write(string.format(line, summary.requests, summary.duration / 1e6, failed,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
"""


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """The address and the process number of a server with the options it has by default."""
    with subprocess.Popen(
        [sys.executable, "-m", "gridsum", "serve", "--port", "0", "--model", "base"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"http://\S+", told)
        if found is None:
            raise SystemExit(told + process.stderr.read())
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


def sums() -> list[str]:
    random = Random(0)
    return [
        "+".join(str(random.randrange(10 ** random.randint(1, 6))) for _ in range(random.randint(2, 3)))
        for _ in range(SUMS)
    ]


def load(address: str, seconds: int) -> dict[str, Any]:
    """What wrk measures in that time."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_SCRIPT % ", ".join(f'"{text}"' for text in sums()))
        script.flush()
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", "-s", script.name, address]
        printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])


def resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None, "Linux tells the memory of a running process"
    return int(found[1]) / 1024


def cpu_seconds(process: int) -> float:
    """Of all its threads so far: unlike the clock's time, hardly touched by what else the machine does."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--seconds", type=int, default=15, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; apt-get install wrk")
    print(f"load average before {os.getloadavg()[0]:.1f}")
    with serving() as (address, process):
        load(address, 5)
        rounds = []
        for _ in range(options.rounds):
            before = cpu_seconds(process)
            found = load(address, options.seconds)
            found["cpu_ms_per_request"] = 1000 * (cpu_seconds(process) - before) / found["requests"]
            found |= {"megabytes": resident_megabytes(process), "load_average": os.getloadavg()[0]}
            rounds.append(found)
            print(
                f"{found['requests'] / found['seconds']:6.1f} requests/s   p50 {found['p50_ms']:.0f} ms   "
                f"p99 {found['p99_ms']:.0f} ms   {found['errors']} errors   {found['megabytes']:.0f} MB   "
                f"{found['cpu_ms_per_request']:.1f} ms CPU a request   load average {found['load_average']:.1f}"
            )
        time.sleep(2)  # what wrk hung up on is given up by then
        with urllib.request.urlopen(f"{address}/health") as health:
            assert json.load(health)["taken"] == 0, "all work is done"
    product = 2 * 2048**3 / product_rate(torch.device("cpu"), "fp32")
    print(f"a 2048³ product  {product:.3f} s")
    if options.json:
        figures = {
            "command": "python benchmarks/serve.py",
            "product_seconds": product,
            "cores": os.cpu_count(),
            "connections": CONNECTIONS,
            "rounds": rounds,
        }
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
