"""`gridsum serve` as a person starts and stops it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

from tests.serve.conftest import SOURCE


def test_it_says_where_it_listens_and_stops_when_asked():
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "gridsum", "serve", "--host", "0.0.0.0", "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        told = server.stderr.readline()
        found = re.fullmatch(r"gridsum serves exact, base, .* on http://0\.0\.0\.0:(\d+) \(Ctrl\+C stops it\)\n", told)
        assert found, told + server.stderr.read()
        assert server.stderr.readline() == "other machines that can reach this one may ask it, too\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/") as page:
            assert b"gridsum" in page.read()
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=600)
    assert (server.returncode, out, err) == (0, "", "stopped\n")
