# SPDX-License-Identifier: GPL-2.0-only
"""One TCP connection: `serve` answers; `call ADDRESS` asks each 20 ms and prints when it was
answered.
"""

import socket
import sys
import time

PORT = 7
if sys.argv[1] == "serve":
    peer, _ = socket.create_server(("", PORT)).accept()
    while data := peer.recv(64):
        peer.sendall(data)
else:
    with socket.create_connection((sys.argv[2], PORT), timeout=10) as peer:
        while peer.send(b"?") and peer.recv(64):
            print(f"[{time.time():.6f}]", flush=True)
            time.sleep(0.02)
