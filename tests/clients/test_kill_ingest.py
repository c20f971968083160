"""A few kills of loadtest/bench/kill.py, which `make bench-kill` runs 300 of."""

import sys

import pytest
from karst import ROOT

sys.path.insert(0, str(ROOT / "loadtest/bench"))

import forwarder  # noqa: E402
import kill  # noqa: E402

KILLS = 10
SEED = 20261121


def check(campaign):
    with campaign:
        campaign.run(KILLS)
    report = "\n".join(campaign.report())
    print(report)
    assert not campaign.lost, report
    assert not campaign.duplicated, report
    requests = campaign.ledger.all()
    acknowledged = sum(1 for one in requests if one.acknowledged)
    assert acknowledged > 20 * KILLS, "the load was too small to say anything"
    assert sum(campaign.kills.values()) == KILLS


def test_ten_kills_of_the_server_lose_and_duplicate_nothing(tmp_path):
    campaign = kill.Campaign(tmp_path, seed=SEED)
    check(campaign)
    # Senders that never gave up had everything acknowledged in the end, so kills met open requests.
    assert any(one.sends > 1 for one in campaign.ledger.all()), "no kill met an open request"


def test_ten_kills_of_server_and_s3_lose_and_duplicate_nothing(tmp_path, store):
    campaign = kill.Campaign(tmp_path, store, seed=SEED)
    check(campaign)
    assert any("S3" in name for name in campaign.kills)


def test_ten_kills_of_server_and_forwarder_lose_and_duplicate_nothing(tmp_path):
    if not forwarder.BINARY.exists():
        pytest.skip(f"{forwarder.BINARY} is missing: make build")
    campaign = kill.Campaign(tmp_path, seed=SEED, forwarded=True)
    check(campaign)
    assert any("forwarder" in name for name in campaign.kills)
