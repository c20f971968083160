"""Bursts of syslog over UDP: the highest rate at which the kernel drops no datagram."""

import dataclasses
import pathlib
import socket
import time

import harness
from harness import karst

# Messages per second that are tried, in this order.
RATES = (5_000, 10_000, 20_000, 50_000, 100_000)
SIZE = 200
# Messages that are sent as fast as one sender can.
AT_ONCE = 10_000
# Rate in messages per second at which nothing may be lost.
BAR = 20_000
LOST = "karst_ingest_lost_datagrams_total"


@dataclasses.dataclass
class Burst:
    """What was sent, and what of it was lost."""

    wanted: int
    messages: int
    seconds: float
    lost: int

    @property
    def rate(self):
        return self.messages / self.seconds


@dataclasses.dataclass
class Bursts:
    """One burst for each rate, one as fast as possible, and the system's limit of receive buffers."""

    paced: list
    at_once: Burst
    buffer: int

    @property
    def best(self):
        """The highest rate up to which nothing was lost."""
        best = 0
        for burst in self.paced:
            if burst.lost:
                break
            best = burst.rate
        return best


def message(number):
    text = f"<13>Oct 11 22:14:15 bursthost app[{number}]: message number{number} "
    return text.ljust(SIZE, "x").encode()


def send(port, wanted, messages):
    """Sends messages in blocks of a millisecond, without a rate at once; returns the seconds."""
    made = [message(number) for number in range(messages)]
    block = max(1, wanted // 1_000) if wanted else messages
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        begun = time.monotonic()
        for start in range(0, messages, block):
            for one in made[start : start + block]:
                sender.send(one)
            if wanted:
                due = begun + min(start + block, messages) / wanted
                time.sleep(max(0.0, due - time.monotonic()))
        return time.monotonic() - begun


def burst(host, wanted, messages):
    lost = lambda: sum(value for name, value in host.metrics().items() if name.startswith(LOST))
    stored_before, lost_before = host.events("main"), lost()
    seconds = send(host.server.udp_port, wanted, messages)
    done = lambda: host.events("main") - stored_before + lost() - lost_before >= messages
    karst.wait_for(done, f"{messages} messages", 120, 0.5)
    return Burst(wanted, messages, seconds, int(lost() - lost_before))


def bursts(folder, seconds):
    """Bursts of some seconds at rising rates, and one as fast as one sender can."""
    with harness.Host(folder / "bursts") as host:
        host.server.start()
        # What the first events cost is no part of a rate.
        burst(host, 1_000, 1_000)
        paced = []
        for rate in RATES:
            paced.append(burst(host, rate, rate * seconds))
            print(f"  {rate:,}/s: {paced[-1].lost:,} of {rate * seconds:,} lost", flush=True)
        at_once = burst(host, 0, AT_ONCE)
        print(f"  at once: {at_once.lost:,} of {AT_ONCE:,} lost", flush=True)
    limit = int(pathlib.Path("/proc/sys/net/core/rmem_max").read_text())
    return Bursts(paced, at_once, limit)
