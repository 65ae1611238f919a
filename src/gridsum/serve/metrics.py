"""What the server counts, as Prometheus reads it, and a log that cannot fill the disk."""

import logging
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Metrics:
    """Requests by status, and how long their answers took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: Counter[int] = Counter()
        self._buckets = [0] * (len(_SECONDS) + 1)
        self._seconds = 0.0

    def answered(self, status: int, seconds: float) -> None:
        with self._lock:
            self._statuses[status] += 1
            self._buckets[bisect_left(_SECONDS, seconds)] += 1
            self._seconds += seconds

    def text(self, now: Mapping[str, int], counted: Mapping[str, int]) -> str:
        """All of it, with numbers of this moment and further counts."""
        with self._lock:
            statuses, buckets, seconds = dict(self._statuses), list(self._buckets), self._seconds
        lines = ["# TYPE gridsum_requests_total counter"]
        lines += [f'gridsum_requests_total{{status="{status}"}} {count}' for status, count in sorted(statuses.items())]
        lines.append("# TYPE gridsum_request_seconds histogram")
        total = 0
        for bound, count in zip((*map(str, _SECONDS), "+Inf"), buckets, strict=True):
            total += count
            lines.append(f'gridsum_request_seconds_bucket{{le="{bound}"}} {total}')
        lines += [f"gridsum_request_seconds_sum {seconds:.6f}", f"gridsum_request_seconds_count {total}"]
        for name, value in now.items():
            lines += [f"# TYPE gridsum_{name} gauge", f"gridsum_{name} {value}"]
        for name, value in counted.items():
            lines += [f"# TYPE gridsum_{name}_total counter", f"gridsum_{name}_total {value}"]
        return "\n".join(lines) + "\n"


class FewLines(logging.Filter):
    """Lets so many lines through in a stretch of time; then one says how many were left out."""

    def __init__(self, lines: int = 20, seconds: float = 60.0) -> None:
        super().__init__()
        self._most, self._stretch = lines, seconds
        self._began, self._seen = -seconds, 0
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._began >= self._stretch:
                left_out = self._seen - self._most
                self._began, self._seen = now, 0
                if left_out > 0:
                    record.msg = f"({left_out} lines were left out before this one) {record.msg}"
            self._seen += 1
            return self._seen <= self._most
