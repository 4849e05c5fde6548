#!/usr/bin/env python3
"""A service that answers after as many microseconds as it is asked to: service.py PORT.

A request is a double, an answer one byte.
"""

import socket
import struct
import sys
import threading
import time


def serve(connection):
    with connection:
        while len(request := connection.recv(8)) == 8:
            time.sleep(max(0, struct.unpack("d", request)[0] / 1e6))
            connection.sendall(b"!")


def main():
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(sys.argv[1])))
        listener.listen()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
