"""Tantivy bare, through its Python wheel: a term index with positions, no language and no planning."""

import datetime

from peer import Peer

NUMBERS = {"status": 6, "latency_ms": 7, "bytes": 8, "user_id": 9, "id": 11}
TEXTS = {"level": 3, "method": 4, "path": 5, "session": 10}
TEN_MINUTES = 600_000_000
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


class Tantivy(Peer):
    name = "tantivy"
    pins = ("tantivy==0.27.0",)
    module = "tantivy"
    settings = (
        "the wheel in process; the line as text with positions, stored with LZ4; fields as terms and columns;"
        " 2 writers with 512 MB, loaded line by line from Python, which is most of what loading costs"
    )
    cannot = {
        "users": "distinct values are only estimated",
        "extracted": "nothing is extracted from text while searching",
    }
    remarks = {
        "count": "without a range from the term dictionary; with one by an aggregation",
        "session_regex": "over the terms of the field `session`",
        "latency": "the percentile from a sketch",
    }

    def load(self, file):
        from tantivy import Document, Index, SchemaBuilder

        builder = SchemaBuilder()
        builder.add_text_field("raw", stored=True)
        builder.add_text_field("host", tokenizer_name="raw", index_option="basic", fast=True)
        for name in TEXTS:
            fast = name == "path"
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=fast)
        for name in ("time", *NUMBERS):
            builder.add_integer_field(name, indexed=True, fast=True)
        index = Index(builder.build(), path=str(self.folder))
        writer = index.writer(512_000_000, 2)
        with open(file) as lines:
            for line in lines:
                parts = line.split(" ", 12)
                fields = {"raw": line[:-1], "host": parts[1], "time": microseconds(parts[0])}
                for name, place in TEXTS.items():
                    fields[name] = parts[place][len(name) + 1 :]
                for name, place in NUMBERS.items():
                    fields[name] = int(parts[place][len(name) + 1 :])
                writer.add_document(Document(**fields))
        writer.commit()
        writer.wait_merging_threads()
        return sum(file.stat().st_size for file in self.folder.iterdir())

    def open(self):
        import tantivy

        self.index = tantivy.Index.open(str(self.folder))
        self.schema, self.searcher = self.index.schema, self.index.searcher()
        return f"{tantivy.__version__}, {self.searcher.num_segments} segments"

    # The parts of queries.

    def all(self):
        from tantivy import Query

        return Query.all_query()

    def term(self, field, value):
        from tantivy import Query

        return Query.term_query(self.schema, field, value, index_option="basic")

    def between(self, field, start, end=None):
        from tantivy import FieldType, Query

        return Query.range_query(
            self.schema,
            field,
            FieldType.Integer,
            lower_bound=start,
            upper_bound=end,
            include_upper=end is None,
        )

    def counted(self, query):
        """The cheapest way of the wheel: a search for the best one would score every match."""
        found = self.searcher.aggregate(query, {"found": {"value_count": {"field": "id"}}})
        return [{"count": int(found["found"]["value"])}]

    def newest_first(self, query, most):
        found = self.searcher.search(query, limit=most, count=False, order_by_field="time")
        return [{"_raw": self.searcher.doc(place).get_first("raw")} for _, place in found.hits]

    def buckets(self, query, aggregation):
        return self.searcher.aggregate(query, {"found": aggregation})["found"]["buckets"]

    # The kinds of question.

    def user(self, _, user):
        return self.newest_first(self.term("user_id", int(user)), 1_000)

    def word(self, _, word):
        return self.newest_first(self.term("raw", word), 1_000)

    def count(self, ask, word):
        from tantivy import Occur, Query

        if ask.within is None:
            return [{"count": self.searcher.doc_freq("raw", word)}]
        parts = (self.term("raw", word), self.between("time", *ask.within))
        return self.counted(Query.boolean_query([(Occur.Must, part) for part in parts]))

    def hosts(self, _):
        found = self.buckets(self.all(), {"terms": {"field": "host", "size": 1_000}})
        return [{"host": one["key"], "count": one["doc_count"]} for one in found]

    def errors(self, _):
        spans = {"histogram": {"field": "time", "interval": TEN_MINUTES}}
        found = self.buckets(self.between("status", 500), spans)
        return [
            {
                "_time": (EPOCH + int(one["key"]) * MICROSECOND).isoformat(),
                "count": one["doc_count"],
            }
            for one in found
        ]

    def users_estimated(self, _):
        return [{"users": round(self.searcher.cardinality(self.all(), "user_id"))}]

    def latency(self, _):
        paths = {
            "terms": {"field": "path", "size": 1_000},
            "aggs": {
                "average": {"avg": {"field": "latency_ms"}},
                "high": {"percentiles": {"field": "latency_ms", "percents": [95]}},
            },
        }
        return [
            {
                "path": one["key"],
                "avg(latency_ms)": one["average"]["value"],
                "p95(latency_ms)": one["high"]["values"]["95.0"],
            }
            for one in self.buckets(self.all(), paths)
        ]

    def session_regex(self, _, regex):
        from tantivy import Query

        return self.counted(Query.regex_query(self.schema, "session", regex))

    def phrase(self, _, text):
        from tantivy import Query

        return self.counted(Query.phrase_query(self.schema, "raw", text.split()))

    def newest(self, _, word, most):
        return self.newest_first(self.term("raw", word), int(most))


def microseconds(time):
    return (datetime.datetime.fromisoformat(time) - EPOCH) // MICROSECOND


PEER = Tantivy
