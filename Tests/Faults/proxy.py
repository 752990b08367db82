"""A TCP proxy in front of a Redis on a unix socket, which can inject faults."""
import socket
import struct
import threading
import time


class Proxy:
    """A proxy with two threads for each connection. `mode` may change at any time:

    pass        both ways
    blackhole   both ends stay connected, nothing passes
    swallow     requests pass, replies vanish
    """

    def __init__(self, target):
        self.target = target
        self.faults = 0
        self._mode = "pass"
        self.delay = 0.0
        self.cut_after = None
        # Parses the traffic, and decides which replies are lost together with their connection; see wire.Claims.
        self.reader = None
        self.connections = set()
        self.lock = threading.Lock()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def mode(self):
        return self._mode

    @mode.setter
    def mode(self, mode):
        self.faults += mode != "pass"
        self._mode = mode

    def reset_all(self):
        """Ends every connection with a reset."""
        self.faults += 1
        for client, server in self._taken():
            _reset(client)
            _close(server)

    def close(self):
        _close(self.listener)
        self.reset_all()

    def _taken(self):
        with self.lock:
            taken, self.connections = self.connections, set()
        return taken

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                _close(client)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, server)
            with self.lock:
                self.connections.add(pair)
            threading.Thread(target=self._pump, args=(pair, client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(pair, server, client, True), daemon=True).start()

    def _pump(self, pair, source, sink, is_reply):
        passed, stream = 0, self.reader and self.reader.stream(pair, is_reply)
        try:
            while data := source.recv(65536):
                while self.mode == "blackhole":
                    time.sleep(0.02)
                if self.delay:
                    time.sleep(self.delay)
                if is_reply and self.mode == "swallow":
                    continue
                if stream:
                    data, is_over = stream(data)
                    if is_over:
                        self.faults += 1
                        sink.sendall(data)
                        _reset(sink)
                        break
                if is_reply and self.cut_after is not None and passed + len(data) > self.cut_after:
                    sink.sendall(data[: max(0, self.cut_after - passed)])
                    break
                sink.sendall(data)
                passed += len(data)
        except OSError:
            pass
        with self.lock:
            self.connections.discard(pair)
        _close(source)
        _close(sink)


def _reset(link):
    try:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass  # the thread of the connection was faster
    _close(link)


def _close(link):
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    link.close()
