"""Fields that add-ons set: a search that is repeated knows which stored events satisfy a filter on them, and
their values, until something changes that they depend on."""

import pytest
from karst import wait_for
from test_reload import changed, reload

PROPS = "apps/doors/local/props.conf"
TEAMS = "apps/doors/lookups/teams.csv"
RESULT = 'EVAL-result = case(code=="1", "opened", code=="2", "refused")'
LOOKUP = "LOOKUP-team = teams who OUTPUT team"
PEOPLE = ["ada", "bob", "eve"]
EVENTS = 600


def props(*lines):
    return "\n".join(["[door]", *lines, ""])


@pytest.fixture
def conf(tmp_path):
    """Writes a file of the configuration directory."""

    def write(path, text):
        file = tmp_path / "conf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write(PROPS, props(RESULT, LOOKUP))
    write("apps/doors/local/transforms.conf", "[teams]\nfilename = teams.csv\n")
    write(TEAMS, "who,team\nada,red\nbob,blue\n")
    return write


@pytest.fixture
def server(own_server, tmp_path, conf):
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    events = [f"n={n} who={PEOPLE[n % 3]} code={n % 4}" for n in range(EVENTS)]
    server.send(*events, index="main", sourcetype="door")
    wait_for(lambda: server.count("index=main") == EVENTS, "the events")
    server.roll("main")
    # Only events that are stored are remembered, and the first search may still find them elsewhere.
    wait_for(lambda: finds_again(server, "code>=0 result=opened"), "the stored events")
    return server


def known(server):
    return server.metric("karst_filter_granules_total", kind="known")


def finds_again(server, search):
    before = known(server)
    server.count(f"index=main {search}")
    return known(server) > before


def expected(condition):
    return sum(condition(PEOPLE[n % 3], n % 4, n) for n in range(EVENTS))


def test_repeated_searches_find_the_same_events(server):
    searches = {
        "result=opened": lambda who, code, n: code == 1,
        "result!=opened": lambda who, code, n: code == 2,
        "NOT result=opened": lambda who, code, n: code != 1,
        "team=red result=refused": lambda who, code, n: who == "ada" and code == 2,
        "team=red OR result=opened": lambda who, code, n: who == "ada" or code == 1,
        "team=* n<100": lambda who, code, n: who != "eve" and n < 100,
    }
    for search, condition in searches.items():
        before = known(server)
        for _ in range(3):
            assert server.count(f"index=main {search}") == expected(condition), search
        assert known(server) > before, search
        rows = server.rows(f"search index=main {search} | stats count by who, result, code")
        assert sum(int(row["count"]) for row in rows) <= expected(condition), search
        rows = server.rows(f"search index=main {search} | table n")
        found = sorted(int(row["n"]) for row in rows)
        wanted = [n for n in range(EVENTS) if condition(PEOPLE[n % 3], n % 4, n)]
        assert found == wanted, search
    assert server.metric("karst_filter_bytes") > 0
    values = "karst_computed_granules_total"
    before = server.metric(values, kind="known")
    for _ in range(2):
        rows = server.rows("search index=main | stats count by result")
        found = {row["result"]: int(row["count"]) for row in rows}
        assert found == {"opened": EVENTS // 4, "refused": EVENTS // 4}, rows
    assert server.metric(values, kind="known") > before
    assert server.metric(values, kind="computed") > 0
    assert server.metric("karst_filter_granules_total", kind="tested") > 0
    assert server.metric("karst_computed_bytes") > 0


def test_what_a_field_depends_on_changes(server, conf):
    search = "index=main team=red result=opened"
    red = lambda *names: expected(lambda who, code, n: who in names and code == 1)
    each = EVENTS // len(PEOPLE)

    def teams():
        rows = server.rows("search index=main | stats count by team")
        return {row["team"]: int(row["count"]) for row in rows}

    for _ in range(2):
        assert server.count(search) == red("ada")
        assert teams() == {"red": each, "blue": each}
    # A lookup file is read by each search.
    conf(TEAMS, "who,team\nada,red\nbob,blue\neve,red\n")
    for _ in range(2):
        assert server.count(search) == red("ada", "eve")
        assert teams() == {"red": 2 * each, "blue": each}
    conf(TEAMS, "who,team\nada,red\nbob,blue\n")
    assert server.count(search) == red("ada")
    conf(PROPS, props(RESULT.replace('code=="1"', 'code!="1"'), LOOKUP))
    assert changed(reload(server)) == [PROPS]
    for _ in range(2):
        assert server.count(search) == expected(lambda who, code, n: who == "ada" and code != 1)
    # The same expression over another field of the same name, which the stored columns do not have.
    last = RESULT.replace("code", "last")
    for extract, condition in [
        ("n=\\d*(?<last>\\d)", lambda who, code, n: who == "ada" and n % 10 == 1),
        ("code=(?<last>\\d)", lambda who, code, n: who == "ada" and code == 1),
    ]:
        conf(PROPS, props(last, LOOKUP, f"EXTRACT-last = {extract}"))
        assert changed(reload(server)) == [PROPS]
        for _ in range(2):
            assert server.count(search) == expected(condition), extract


def test_events_that_arrive_later_are_found(server):
    search = "index=main result=opened"
    before = expected(lambda who, code, n: code == 1)
    for _ in range(2):
        assert server.count(search) == before
    server.send("n=-1 who=ada code=1", index="main", sourcetype="door")
    wait_for(lambda: server.count(search) == before + 1, "the new event")


def test_values_that_depend_on_the_time_are_computed_by_each_search(server, conf):
    conf(PROPS, props('EVAL-age = if(now()>0 AND code==1, "past", "none")', LOOKUP))
    assert changed(reload(server)) == [PROPS]
    before = known(server)
    for _ in range(2):
        assert server.count("index=main age=past") == expected(lambda who, code, n: code == 1)
    assert known(server) == before


def test_event_types_of_a_field_that_is_calculated_too_are_those_of_now(server, conf):
    def classes():
        rows = server.rows("search index=main | stats count by eventtype")
        return {row["eventtype"]: int(row["count"]) for row in rows}

    conf(PROPS, props('EVAL-eventtype = if(code=="1", "opening", null())', LOOKUP))
    code, each = EVENTS // 4, EVENTS // len(PEOPLE)
    for search, count in [("code=2", code), ("who=ada", each)]:
        conf("apps/doors/local/eventtypes.conf", f"[some]\nsearch = {search}\n")
        changed(reload(server))
        for _ in range(2):
            assert classes() == {"opening": code, "some": count}, search


def test_event_types_and_tags_change(server, conf):
    def counts(field, search=""):
        rows = server.rows(f"search index=main {search} | stats count by {field}")
        return {row[field]: int(row["count"]) for row in rows}

    def is_found(types, tagged):
        """`types` have a condition each; `tagged` is one."""
        of_types = {name: expected(condition) for name, condition in types.items()}
        for _ in range(3):
            assert counts("eventtype") == of_types
            assert counts("tag") == {"watched": expected(tagged)}
            for name, condition in types.items():
                both = {
                    other: expected(lambda *event, one=condition, two=two: one(*event) and two(*event))
                    for other, two in types.items()
                }
                both = {other: count for other, count in both.items() if count}
                assert counts("eventtype", f"eventtype={name}") == both, name
                assert server.count(f"index=main eventtype={name}") == expected(condition), name
                assert server.count(f"index=main NOT eventtype={name}") == EVENTS - expected(condition), name
            assert server.count("index=main tag=watched") == expected(tagged)

    def has_people(*names):
        return lambda who, code, n: who in names

    def write_types(opened):
        types = f"[open]\nsearch = {opened}\n[red]\nsearch = sourcetype=door team=red\n"
        conf("apps/doors/local/eventtypes.conf", types)

    values = "karst_computed_granules_total"
    before = server.metric(values, kind="known")
    opened = lambda who, code, n: code == 1
    refused = lambda who, code, n: code == 2
    write_types("result=opened")
    conf("apps/doors/local/tags.conf", "[eventtype=red]\nwatched = enabled\n[who=bob]\nwatched = enabled\n")
    changed(reload(server))
    is_found({"open": opened, "red": has_people("ada")}, has_people("ada", "bob"))
    assert server.metric(values, kind="known") > before
    # A lookup on which an event type depends.
    conf(TEAMS, "who,team\neve,red\nbob,blue\n")
    is_found({"open": opened, "red": has_people("eve")}, has_people("eve", "bob"))
    # The search of an event type, the expression of a field that it reads, and a tag.
    write_types("result=refused")
    changed(reload(server))
    is_found({"open": refused, "red": has_people("eve")}, has_people("eve", "bob"))
    conf(PROPS, props(RESULT.replace('"2"', '"1"').replace('"1"', '"2"', 1), LOOKUP))
    changed(reload(server))
    is_found({"open": opened, "red": has_people("eve")}, has_people("eve", "bob"))
    conf("apps/doors/local/tags.conf", "[eventtype=red]\nwatched = enabled\n")
    changed(reload(server))
    is_found({"open": opened, "red": has_people("eve")}, has_people("eve"))


def test_values_of_rows_that_pass_a_filter_are_known(server):
    values = "karst_computed_granules_total"
    for search, condition in {
        "result=opened": lambda who, code, n: code == 1,
        "who=ada": lambda who, code, n: who == "ada",
        "NOT result=opened n<300": lambda who, code, n: code != 1 and n < 300,
    }.items():
        teams = {
            team: expected(lambda *event, one=condition, name=name: one(*event) and event[0] == name)
            for team, name in {"red": "ada", "blue": "bob"}.items()
        }
        teams = {team: count for team, count in teams.items() if count}
        for _ in range(3):
            before = server.metric(values, kind="known")
            rows = server.rows(f"search index=main {search} | stats count by team")
            assert {row["team"]: int(row["count"]) for row in rows} == teams, search
        assert server.metric(values, kind="known") > before, search
