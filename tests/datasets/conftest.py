"""Fixtures for the data rooms: the folder with the raw files, an empty one, and a server."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class Handler(BaseHTTPRequestHandler):
    """Answers each path with the next of its prepared replies, the last one again and again.

    A reply is (status, body), or (status, body, length) where another length is announced than the body has.
    """

    def do_GET(self):
        self.server.asked.append(self.path)
        replies = self.server.replies.get(self.path, [(404, b"")])
        status, body, *length = replies.pop(0) if len(replies) > 1 else replies[0]
        self.send_response(status)
        self.send_header("Content-Length", str(*length or [len(body)]))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server on this machine: its ``address``, the ``replies`` of its paths, and what it was ``asked``."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.replies, httpd.asked = {}, []
    httpd.address = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def raw_data():
    """The folder that holds the raw files, for tests marked `data`."""
    folder = os.environ.get("CLUSTCAL_DATA_DIR")
    if not folder:
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to test on")
    return Path(folder)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty data folder that the package uses."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(folder))
    return folder
