# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP server of a folder for tests/cli/trace_get.sh. Answers ranges unless the path begins with /plain/. Writes its port to PORT_FILE and
each request with its range to LOG. The path /cut/FILE sends half of the file and closes the connection.

usage: range_server.py FOLDER PORT_FILE LOG
"""
import http.server
import os
import sys

folder, port_file, log = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        first = self.headers.get("Range", "")
        with open(log, "a") as f:
            f.write(self.path + " " + first + "\n")
        try:
            with open(os.path.join(folder, os.path.basename(self.path)), "rb") as f:
                data = f.read()
        except OSError:
            self.send_error(404)
            return
        start = int(first[6:].split("-")[0]) if first and not self.path.startswith("/plain/") else 0
        if start >= len(data) > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, len(data) - 1, len(data)))
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        body = data[start:]
        try:
            self.wfile.write(body[: len(body) // 2] if self.path.startswith("/cut/") and not start else body)
        except OSError:
            pass  # the client ends the connection of a range that it did not get
        self.close_connection = True

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".tmp", "w") as f:
    f.write(str(server.server_port))
os.rename(port_file + ".tmp", port_file)
server.serve_forever()
