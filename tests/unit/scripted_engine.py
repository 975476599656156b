"""A Docker engine on a real socket that returns given states of one container."""

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

ALIVE = {
    "Pid": 4712,
    "StartedAt": "2026-03-01T10:00:00.123456789Z",
    "Running": True,
    "Paused": False,
    "ExitCode": 0,
}
DEAD = ALIVE | {"Running": False, "Pid": 0}


@contextmanager
def engine(monkeypatch, folder, *lives, listed=(), refuses=()):
    """Serve each of these states in turn, the last one repeatedly; yield the requests received."""
    orders, left = [], list(lives)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/containers/json"):
                self.reply(200, listed)
            else:
                self.reply(200, {"State": left.pop(0) if len(left) > 1 else left[0]})

        def do_POST(self):
            orders.append(self.path.removeprefix("/containers/abc/"))
            is_refused = any(word in self.path for word in refuses)
            self.reply(409 if is_refused else 204, {"message": "it is not running"})

        def reply(self, status, document):
            text = b"" if status == 204 else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *words):
            pass

        def address_string(self):
            return ""

    path = folder / "engine.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socketserver.UnixStreamServer(str(path), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield orders
        finally:
            server.shutdown()
            thread.join()
