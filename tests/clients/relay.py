"""A link between processes that can be cut in one direction."""

import contextlib
import socket
import threading


class Relay:
    """Passes connections on to a port of this machine.

    What is sent in a direction that is cut waits, and arrives once the link is mended, as TCP sends lost packets
    again. Connections that are opened meanwhile get no answer.
    """

    def __init__(self, port):
        self.port = port
        # Bytes that clients have sent.
        self.sent = 0
        self.there, self.back = threading.Event(), threading.Event()
        self.mend()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *, there=False, back=False):
        """Cuts the direction to the port, or the one back."""
        for direction, is_cut in ((self.there, there), (self.back, back)):
            if is_cut:
                direction.clear()

    def mend(self):
        self.there.set()
        self.back.set()

    def close(self):
        """Takes no more connections; those that are open go on."""
        self.mend()
        # Closing alone does not end the wait for a connection.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client):
        """One connection, until both directions have ended."""
        with client:
            # Opening it takes packets in both directions.
            self.there.wait()
            self.back.wait()
            try:
                server = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            except OSError:
                return
            with server:
                server.settimeout(None)
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = threading.Thread(
                    target=self._copy, args=(server, client, self.back), daemon=True
                )
                answers.start()
                self._copy(client, server, self.there)
                answers.join()

    def _copy(self, source, target, direction):
        with contextlib.suppress(OSError):
            while part := source.recv(65_536):
                direction.wait()
                if direction is self.there:
                    self.sent += len(part)
                target.sendall(part)
        # The end is sent, too.
        direction.wait()
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
