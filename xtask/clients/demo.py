"""The demo server that the clients read, and the state it serves."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_SECONDS = 120
SCHEDULES = {"city", "twin"}
REALTIME = {"city-trips", "city-vehicles", "city-alerts", "twin-et", "twin-vm", "twin-sx"}
FEEDS = SCHEDULES | REALTIME | {"city-bikes"}


def wait_until(what, condition, seconds=PATIENCE_SECONDS):
    """Asks four times a second, for at most two minutes unless given."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.25)
    raise TimeoutError(f"timeout while waiting for {what}")


class Demo:
    """`lineside demo --siri request` on a port of its own: a subscription would go on when the producer fails."""

    def __init__(self, binary, folder):
        self.log = folder / "demo.log"
        self.process = subprocess.Popen(
            [binary, "demo", "--siri", "request", "--port", "0", "--data-dir", folder / "data"],
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
        )
        self.base = wait_until("the URL of the demo", self._find_address)
        wait_until("the state ok of all feeds", self._is_ready)

    def _find_address(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the demo ended: {self.log.read_text()}")
        found = re.search(r"http://127\.0\.0\.1:\d+", self.log.read_text())
        return found and found.group()

    def _is_ready(self):
        feeds = self.read_json("/api/v1/feeds")["items"]
        good = {feed["id"] for feed in feeds if feed["state"] == "ok"}
        return FEEDS <= good

    def read(self, path, headers=None):
        """The body of a GET, in plain bytes."""
        request = urllib.request.Request(self.base + path, headers=headers or {})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read()

    def read_json(self, path):
        return json.loads(self.read(path))

    def freeze(self):
        """Lets the producers of real time fail, so that every reader sees one state."""
        for feed in REALTIME:
            body = urllib.parse.urlencode({"feed": feed, "fault": "500"}).encode()
            request = urllib.request.Request(self.base + "/demo/faults", body)
            with urllib.request.urlopen(request, timeout=60):
                pass
        wait_until("the state of the faults", self._is_frozen)

    def _is_frozen(self):
        feeds = {feed["id"]: feed for feed in self.read_json("/api/v1/feeds")["items"]}
        return all(feeds[feed]["state"] in ("stale", "late", "failing") for feed in REALTIME)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
