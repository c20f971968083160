"""Elasticsearch's bulk interface, with the official client and with plain requests."""

import base64
import json

import elasticsearch
import elasticsearch.helpers
import pytest
from karst import TOKEN, Server, free_port, packed


@pytest.fixture(scope="module")
def elastic(tmp_path_factory):
    port = free_port()
    environment = {"KARST_ELASTICSEARCH": f"127.0.0.1:{port}"}
    server = Server(tmp_path_factory.mktemp("elastic"), environment=environment).start()
    server.elastic_port = port
    server.create_index("web")
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def client(server, **credentials):
    credentials = credentials or {"basic_auth": ("any", TOKEN)}
    url = f"http://127.0.0.1:{server.elastic_port}"
    return elasticsearch.Elasticsearch(url, **credentials, max_retries=0)


def request(server, method, path, body=None, token=TOKEN, headers=None):
    sent = dict(headers or {})
    if token:
        sent["Authorization"] = f"Bearer {token}"
    return server.request(server.elastic_port, method, path, body, sent)


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def test_the_official_client_sends_in_bulk_and_every_document_is_there(elastic):
    documents = (
        {
            "_index": "web",
            "@timestamp": f"2026-01-02T03:04:{n % 60:02}.5Z",
            "message": f"bulk number{n}",
            "host": {"name": f"web-{n % 3}"},
            "log": {"file": {"path": "/var/log/app"}},
        }
        for n in range(2500)
    )
    done, errors = elasticsearch.helpers.bulk(client(elastic), documents, chunk_size=500)
    assert (done, errors) == (2500, [])
    assert elastic.count("index=web bulk host=web-1 source=/var/log/app") == 833
    (row,) = elastic.rows("search index=web number1234 | eval t=_time | table t message es_index")
    assert float(row["t"]) == 1767323074.5
    assert (row["message"], row["es_index"]) == ("bulk number1234", "web")


def test_an_index_that_karst_has_not_goes_to_the_default_of_the_token(elastic):
    answer = client(elastic).bulk(
        operations=[{"index": {}}, {"message": "fallback"}], index="filebeat-8.17.0"
    )
    assert [item["index"]["result"] for item in answer["items"]] == ["created"]
    (row,) = elastic.rows("search index=main fallback | table es_index _raw")
    assert row == {"es_index": "filebeat-8.17.0", "_raw": '{"message":"fallback"}'}


@pytest.mark.parametrize(
    "credentials",
    [
        {"api_key": TOKEN},
        {"api_key": base64.b64encode(f"id:{TOKEN}".encode()).decode()},
        {"bearer_auth": TOKEN},
    ],
    ids=["key", "id and key", "bearer"],
)
def test_the_token_may_be_any_kind_of_credential(elastic, credentials):
    assert client(elastic, **credentials).info()["tagline"] == "You Know, for Search"


def test_a_wrong_token_is_an_authentication_error(elastic):
    with pytest.raises(elasticsearch.AuthenticationException):
        client(elastic, basic_auth=("any", "nope")).info()
    assert request(elastic, "GET", "/", token=None).status == 401


def test_shippers_find_what_they_ask_for_first(elastic):
    version = request(elastic, "GET", "/")
    assert version.json()["version"]["number"] == "8.17.0"
    assert version.headers["X-Elastic-Product"] == "Elasticsearch"
    for method, path in [
        ("HEAD", "/"),
        ("GET", "/_license"),
        ("GET", "/_xpack"),
        ("GET", "/_cluster/health"),
        ("PUT", "/_index_template/filebeat"),
        ("HEAD", "/_index_template/filebeat"),
        ("PUT", "/_ilm/policy/filebeat"),
        ("GET", "/_nodes/http"),
    ]:
        assert request(elastic, method, path).status == 200, path


def test_lists_of_what_shippers_set_up_are_empty(elastic):
    for path in ["/_template", "/_ilm/policy", "/_ingest/pipeline"]:
        assert request(elastic, "GET", path).json() == {}, path
    answers = [request(elastic, "POST", path) for path in ["/_refresh", "/main/_refresh"]]
    assert answers[0].status == 200 and answers[0].json() == answers[1].json()


def test_a_single_document_is_refused_with_a_hint(elastic):
    answer = request(elastic, "POST", "/web/_doc", b"{}")
    assert answer.status == 400 and "/_bulk" in answer.json()["error"]["reason"]


def test_a_search_is_refused_with_a_hint(elastic):
    answer = request(elastic, "POST", "/web/_search", b"{}")
    assert answer.status == 400 and "SPL" in answer.json()["error"]["reason"]


def test_a_deletion_is_refused_with_a_hint(elastic):
    answer = request(elastic, "DELETE", "/web")
    assert answer.status == 400 and "/services/data/indexes" in answer.json()["error"]["reason"]


def test_wrong_items_are_told_and_the_others_taken(elastic):
    body = lines(
        {"create": {"_id": "a1"}},
        {"message": "itemgood"},
        {"delete": {"_id": "a1"}},
        {"index": {}},
        {"@timestamp": "soon"},
    )
    answer = request(elastic, "POST", "/web/_bulk", body).json()
    assert answer["errors"] is True
    told = [(next(iter(item)), next(iter(item.values()))["status"]) for item in answer["items"]]
    assert told == [("create", 201), ("delete", 400), ("index", 400)]
    assert elastic.raws("index=web itemgood es_id=a1") == ['{"message": "itemgood"}']


def test_members_after_the_action_are_ignored(elastic):
    # Sent by winston-elasticsearch.
    action = {"index": {"_index": "web", "pipeline": None}, "attempts": 0}
    answer = request(elastic, "POST", "/_bulk", lines(action, {"message": "furthermember"})).json()
    assert answer["errors"] is False
    assert elastic.count("index=web furthermember") == 1


def test_a_malformed_request_is_refused_whole(elastic):
    for body in [b"", b"hello\n", b'{"index":{"_index":"web"}}\n', b'{"attempts":0}\n{}\n']:
        answer = request(elastic, "POST", "/_bulk", body)
        assert answer.status == 400 and answer.json()["status"] == 400, body


def test_a_packed_body_is_unpacked(elastic):
    body = packed(lines({"index": {"_index": "web"}}, {"message": "gzippedbulk"}))
    answer = request(elastic, "POST", "/_bulk", body, headers={"Content-Encoding": "gzip"})
    assert answer.json()["errors"] is False
    assert elastic.count("index=web gzippedbulk") == 1
