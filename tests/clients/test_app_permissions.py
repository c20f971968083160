"""Apps whose metadata files say who reads and writes their objects, asked as several users over REST."""

import pytest

import karst

META = """[]
access = read : [ * ], write : [ admin ]
export = none

[macros]
access = read : [ * ], write : [ admin, power ]

[macros/secret]
access = read : [ admin ], write : [ admin ]

[macros/shown]
export = system

[lookups/secret.csv]
access = read : [ admin ], write : [ admin ]

[props/web/EVAL-secret]
access = read : [ admin ], write : [ admin ]

[savedsearches]
access = read : *
"""
USERS = {"ann": "user", "bob": "power"}


@pytest.fixture
def shop(own_server, tmp_path):
    """A server with the app and two users."""
    app = tmp_path / "conf" / "apps" / "shop"
    files = {
        "default/macros.conf": "\n".join(
            f"[{name}]\ndefinition = index=main\n" for name in ("plain", "secret", "shown")
        ),
        "default/props.conf": '[web]\nEVAL-secret = "s"\nEVAL-plain = "p"\n',
        "default/savedsearches.conf": "[all]\nsearch = index=main\n",
        "lookups/secret.csv": "a\n1\n",
        "lookups/plain.csv": "a\n1\n",
        "metadata/default.meta": META,
        "metadata/local.meta": "[lookups/plain.csv]\nexport = system\n",
    }
    for name, text in files.items():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text(text)
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    for name, role in USERS.items():
        form = {"name": name, "password": karst.PASSWORD, "roles": role}
        assert server.rest("POST", "/services/authentication/users", form).status == 201
    return server


def ask(server, user, method, path, form=None):
    return server.rest(method, path, form, auth=(user, karst.PASSWORD))


def names(server, user, path, app="shop"):
    answer = ask(server, user, "GET", f"/servicesNS/nobody/{app}/{path}?output_mode=json&count=0")
    assert answer.status == 200, answer
    return {entry["name"] for entry in answer.json()["entry"]}


def search(server, user, text, app="shop"):
    form = {"search": text, "exec_mode": "oneshot", "output_mode": "json"}
    return ask(server, user, "POST", f"/servicesNS/{user}/{app}/search/jobs", form)


def looked_up(server, user, file, app):
    """Whether a lookup file has rows for a user; one that they may not read does not exist for them."""
    answer = search(server, user, f"| inputlookup {file}", app)
    assert answer.status == 200, answer
    found = answer.json()
    assert found["results"] or f'"{file}" does not exist' in found["messages"][0]["text"], answer
    return bool(found["results"])


def test_metadata_decides_who_reads_and_writes(shop):
    macros = "data/macros"
    assert {"plain", "secret", "shown"} <= names(shop, "admin", macros)
    assert {"plain", "shown"} <= names(shop, "ann", macros)
    assert "secret" not in names(shop, "ann", macros)
    path = "/servicesNS/nobody/shop/data/macros"
    assert ask(shop, "ann", "GET", f"{path}/secret").status == 404
    changed = {"definition": "index=main x"}
    assert ask(shop, "ann", "POST", f"{path}/plain", changed).status == 403
    assert ask(shop, "bob", "POST", f"{path}/plain", changed).status == 200
    assert ask(shop, "bob", "POST", path, {"name": "new", "definition": "x"}).status == 403
    assert ask(shop, "admin", "POST", path, {"name": "new", "definition": "x"}).status == 201
    # What is not understood is closed, and the log names the line.
    assert names(shop, "ann", "saved/searches").isdisjoint({"all"})
    assert "default.meta:21: access = read : *" in shop.log_text()


def test_searches_see_what_their_users_may_read(shop):
    assert search(shop, "ann", "search `plain`").status == 200
    assert search(shop, "ann", "search `secret`").status == 400
    assert search(shop, "admin", "search `secret`").status == 200
    assert looked_up(shop, "ann", "plain.csv", "shop")
    assert not looked_up(shop, "ann", "secret.csv", "shop")
    assert looked_up(shop, "admin", "secret.csv", "shop")
    shop.send("an event", index="main", sourcetype="web")
    text = "search index=main | table plain secret"
    rows = {user: search(shop, user, text).json()["results"] for user in ("admin", "ann")}
    assert rows == {"admin": [{"plain": "p", "secret": "s"}], "ann": [{"plain": "p"}]}


def test_other_apps_see_what_is_exported(shop):
    seen = names(shop, "ann", "data/macros", "search")
    assert "shown" in seen and "plain" not in seen
    assert search(shop, "ann", "search `shown`", "search").status == 200
    assert search(shop, "ann", "search `plain`", "search").status == 400
    assert looked_up(shop, "ann", "plain.csv", "search")
    assert not looked_up(shop, "admin", "secret.csv", "search")
    path = "/servicesNS/nobody/shop/data/macros/shown?output_mode=json"
    acl = ask(shop, "ann", "GET", path).json()["entry"][0]["acl"]
    assert acl["sharing"] == "global"
    assert acl["perms"] == {"read": ["*"], "write": ["admin", "power"]}


def test_permissions_set_by_a_user_replace_those_of_the_object(shop):
    path = "/servicesNS/nobody/shop/data/macros/secret/acl"
    form = {"sharing": "app", "owner": "nobody", "perms.read": "*", "perms.write": "admin"}
    assert ask(shop, "admin", "POST", path, form).status == 200
    assert "secret" in names(shop, "ann", "data/macros")
    assert search(shop, "ann", "search `secret`").status == 200
