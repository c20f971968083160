"""Objects of S3 as input: added once from a real MinIO, and told of by a queue (moto's server)."""

import collections
import gzip
import json
import os
import subprocess
import sys

import boto3
import pytest

import karst

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def body(name, count):
    return "".join(f"2025-11-20T21:00:00Z queued id={name}-{n} {'z' * 100}\n" for n in range(count))


def ids(server):
    rows = server.export('search index=main queued | rex "id=(?<one>\\S+)" | table one')
    return collections.Counter(row["one"] for row in rows)


def test_objects_are_added_once_and_an_interrupted_run_goes_on(server, index, store):
    def put(name, data):
        with store.files.open_output_stream(f"karst/in/{name}", compression=None) as out:
            out.write(data)

    put("a.log", body("a", 1000).encode())
    put("b.log.gz", gzip.compress(body("b", 500).encode()))
    put("deep/c", body("c", 10).encode())
    add = lambda *more: server.cli(
        "add", "s3://karst/in", "--index", index, "--sourcetype", "plain", *more,
        environment=store.variables(),
    )
    added = add()
    assert added.returncode == 0, added.stderr
    assert "3 objects, 1510 events" in added.stdout, added.stdout
    assert server.count(f"index={index}") == 1510
    assert server.count(f'index={index} source="s3://karst/in/b.log.gz"') == 500
    put("deep/c", body("again", 7).encode())
    added = add()
    assert "1 object, 2 objects taken before, 7 events" in added.stdout, added.stdout
    assert server.count(f"index={index}") == 1517
    put("broken.gz", b"\x1f\x8b nothing of the kind")
    put("image", b"\x89PNG\0\0")
    put("later.log", body("later", 3).encode())
    added = add()
    assert added.returncode != 0, added.stdout
    assert "broken.gz" in added.stderr and "in/image" in added.stderr, added.stderr
    assert "1 object, 3 objects taken before, 3 events" in added.stdout, added.stdout
    assert server.count(f'index={index} source="s3://karst/in/later.log"') == 3


class Cloud:
    """moto's server: S3 and SQS, with S3's notifications to SQS."""

    def __init__(self, folder):
        self.port = karst.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self.log = (folder / "moto.log").open("wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        make = lambda name: boto3.client(
            name, endpoint_url=self.url, region_name="us-east-1",
            aws_access_key_id="test", aws_secret_access_key="test",
        )
        self.s3, self.sqs = make("s3"), make("sqs")
        karst.wait_for(self.is_ready, "moto answers", 30)

    def is_ready(self):
        try:
            self.s3.list_buckets()
            return True
        except Exception:  # whatever a client says of a server that is not there yet
            return False

    def queue(self, name, **attributes):
        return self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def arn(self, url):
        names = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return names["Attributes"]["QueueArn"]

    def waiting(self, url):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()


@pytest.fixture
def cloud(tmp_path):
    cloud = Cloud(tmp_path)
    yield cloud
    cloud.stop()


@pytest.fixture
def told(cloud, own_server, tmp_path):
    """A bucket whose queue a server reads; the queue's dead letters."""
    dead = cloud.queue("dead")
    policy = json.dumps({"deadLetterTargetArn": cloud.arn(dead), "maxReceiveCount": 2})
    url = cloud.queue("news", RedrivePolicy=policy)
    cloud.s3.create_bucket(Bucket="logs")
    cloud.s3.put_bucket_notification_configuration(
        Bucket="logs",
        NotificationConfiguration={
            "QueueConfigurations": [
                {"QueueArn": cloud.arn(url), "Events": ["s3:ObjectCreated:*"]}
            ]
        },
    )
    folder = tmp_path / "conf" / "apps" / "test" / "local"
    folder.mkdir(parents=True)
    (folder / "inputs.conf").write_text(
        f"[aws_sqs_based_s3://news]\nsqs_queue_url = {url}\nsourcetype = plain\n"
        f"sqs_private_endpoint_url = {cloud.url}\ns3_private_endpoint_url = {cloud.url}\n"
        "sqs_visibility_timeout = 10\n"
    )
    environment = {**KEYS, "KARST_CONF_DIR": str(tmp_path / "conf")}
    return own_server(environment=environment), url, dead


def test_new_objects_arrive_once_although_messages_repeat_and_the_server_dies(cloud, told):
    server, url, dead = told
    expected = set()
    for number in range(40):
        data = body(f"o{number}", 200).encode()
        packed = number % 2 == 0
        name = f"day=20/part {number}{'.gz' if packed else ''}"
        cloud.s3.put_object(Bucket="logs", Key=name, Body=gzip.compress(data) if packed else data)
        expected |= {f"o{number}-{n}" for n in range(200)}
    server.start()
    karst.wait_for(lambda: len(ids(server)) > 400, "the first objects", 60)
    server.kill()
    server.start()
    karst.wait_for(lambda: ids(server).keys() == expected, "all objects", 90, 0.3)
    karst.wait_for(lambda: cloud.waiting(url) == 0, "all messages are deleted", 60)
    assert cloud.waiting(dead) == 0
    repeated = [one for one, count in ids(server).items() if count > 1]
    # Objects that were being read when the server died are read again, whole.
    assert len({one.split("-")[0] for one in repeated}) <= 10, repeated[:5]
    before = sum(ids(server).values())
    head = cloud.s3.head_object(Bucket="logs", Key="day=20/part 1")
    note = lambda: json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": "logs"}, "object": {"key": "day%3D20/part+1", "size": 1,
        "eTag": head["ETag"].strip('"'), "sequencer": "000000000000000001"}}}]})
    for _ in range(3):
        wrapped = json.dumps({"Type": "Notification", "Message": note()})
        cloud.sqs.send_message(QueueUrl=url, MessageBody=wrapped)
    karst.wait_for(lambda: cloud.waiting(url) == 0, "the repeated messages are deleted", 60)
    # Unknown by its sequencer the first time, recognised after that.
    assert sum(ids(server).values()) <= before + 200


def test_messages_that_cannot_be_worked_on_end_as_dead_letters(cloud, told):
    server, url, dead = told
    server.start()
    cloud.sqs.send_message(QueueUrl=url, MessageBody="nonsense")
    missing = {"Records": [{"eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": "logs"}, "object": {"key": "missing"}}}]}
    cloud.sqs.send_message(QueueUrl=url, MessageBody=json.dumps(missing))
    test = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "logs"}
    cloud.sqs.send_message(QueueUrl=url, MessageBody=json.dumps(test))
    cloud.s3.put_object(Bucket="logs", Key="good", Body=body("good", 5).encode())
    karst.wait_for(lambda: len(ids(server)) == 5, "the good object", 60)
    karst.wait_for(lambda: cloud.waiting(dead) == 2, "two dead letters", 60, 0.3)
    assert cloud.waiting(url) == 0
    metrics = server.request(server.web_port, "GET", "/metrics").text
    assert 'karst_sqs_messages_total{outcome="poison"}' in metrics
