"""The deployment server and real forwarders: apps arrive, change and go, whoever is killed meanwhile."""

import json
import pathlib
import random
import time

import karst
from forwarding import TIME, check_exactly, forwarder, group
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder"]

SEED = 20261126
KEY = "[deployment]\npass4SymmKey = correct horse battery staple\n"
CLASSES = (
    "[global]\nreloadCheckInterval = 0\n"
    "[serverClass:web]\nwhitelist.0 = web-*\nmachineTypesFilter = linux-*\n"
    "[serverClass:web:app:web]\n"
)
DEPLOYMENT = "/services/deployment/server"


class DeploymentServer:
    """A server that forwarders get their apps from, and send their events to."""

    def __init__(self, own_server, tmp_path, classes=CLASSES):
        self.conf = tmp_path / "etc"
        self.write("system/local/server.conf", KEY)
        self.write("system/local/serverclass.conf", classes)
        port = karst.free_port()
        self.server = own_server(
            environment={
                "KARST_CONF_DIR": str(self.conf),
                "KARST_FORWARDING_ADDRESS": f"127.0.0.1:{port}",
            }
        )
        self.server.forwarding_port = port
        self.server.start()

    def write(self, path, text):
        path = self.conf / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def app(self, name, text, file="inputs"):
        self.write(f"deployment-apps/{name}/default/{file}.conf", text)

    def reload(self):
        path = f"{DEPLOYMENT}/config/_reload?output_mode=json"
        answer = self.server.rest("POST", path, {})
        assert answer.status == 200, answer
        return answer.json()["entry"][0]["content"]

    def entries(self, what):
        answer = self.server.rest("GET", f"{DEPLOYMENT}/{what}?output_mode=json&count=0")
        assert answer.status == 200, answer
        return {entry["name"]: entry["content"] for entry in answer.json()["entry"]}

    def client(self, name):
        found = [one for one in self.entries("clients").values() if one["clientName"] == name]
        return found[0] if found else None

    def result(self, client, app):
        """What became of an app on a forwarder, once it has said so."""
        found = self.client(client)
        one = (found or {"applications": {}})["applications"].get(app)
        return one and one["result"]


def deployment_client(server, name, **settings):
    extra = "".join(f"{key} = {value}\n" for key, value in settings.items())
    return (
        f"[deployment-client]\nclientName = {name}\nphoneHomeIntervalInSecs = 1\n{extra}"
        f"[target-broker:deploymentServer]\ntargetUri = 127.0.0.1:{server.management_port}\n"
    )


def agent_of(forwarder, deployment, name="web-1", key=KEY, **settings):
    outputs = "[tcpout]\ndefaultGroup = all\n" + group("all", [deployment.server])
    return forwarder(
        outputs,
        "",
        server=key,
        deploymentclient=deployment_client(deployment.server, name, **settings),
    )


def status(agent):
    return (agent.status() or {}).get("deployment") or {}


def apps_of(agent):
    """The checksums of its apps, once its status file has them: it is written once a second."""
    seen = {}

    def has_apps():
        seen.update(status(agent))
        return "apps" in seen

    wait_for(has_apps, "the status file has the apps")
    return seen["apps"]


def deployed(agent, app):
    """The directory of an app as it is in effect."""
    checksum = apps_of(agent)[app]
    return agent.data / "deployment" / "versions" / f"{app}-{checksum}" / "apps" / app


def append(path, *lines):
    with path.open("a") as file:
        file.write("".join(line + "\n" for line in lines))


def monitor(*paths):
    return "".join(f"[monitor://{path}]\nindex = main\nsourcetype = plain\n" for path in paths)


def test_an_app_arrives_starts_an_input_changes_and_goes(own_server, forwarder, tmp_path):
    deployment = DeploymentServer(own_server, tmp_path)
    server = deployment.server
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    lines = [f"{TIME} one {n}" for n in range(100)]
    append(one, *lines)
    deployment.app("web", monitor(one))
    state = deployment.reload()
    assert state["disabled"] is False and state["messages"] == [], state
    agent = agent_of(forwarder, deployment).start()
    stranger = agent_of(forwarder, deployment, name="db-1").start()
    check_exactly([server], lines)
    wait_for(lambda: deployment.result("web-1", "web") == "Ok", "the forwarder says so")
    client = deployment.client("web-1")
    assert list(client["serverClasses"]) == ["web"] and client["ip"] == "127.0.0.1", client
    assert client["utsname"].startswith("linux-") and time.time() - client["lastPhoneHomeTime"] < 60

    # The app changes: what was read is not read again.
    deployment.app("web", monitor(one, two))
    lines += [more := f"{TIME} one more", other := f"{TIME} two"]
    append(one, more)
    append(two, other)
    wait_for(lambda: "web" in apps_of(agent), "the status file has the app")
    before = apps_of(agent)["web"]
    deployment.reload()
    wait_for(lambda: apps_of(agent).get("web") != before, "the new version")
    check_exactly([server], lines)

    # The server is killed, and the app is changed before it is back.
    server.kill()
    append(one, while_away := f"{TIME} while the server is away")
    deployment.app("web", monitor(two))
    wait_for(lambda: status(agent).get("last_error"), "the forwarder cannot ask")
    assert apps_of(agent), "it keeps its apps"
    server.start()
    lines.append(while_away)
    check_exactly([server], lines)
    wait_for(lambda: str(one) not in agent.list("monitor"), "the file is not followed any more")
    append(one, f"{TIME} nobody reads this")
    append(two, last := f"{TIME} two, again")
    lines.append(last)
    check_exactly([server], lines)

    # The app is no longer for this forwarder.
    deployment.write("system/local/serverclass.conf", CLASSES.replace("web-*", "www-*"))
    deployment.reload()
    wait_for(lambda: status(agent).get("apps") == {}, "the app is removed")
    wait_for(lambda: str(two) not in agent.list("monitor"), "and its input")
    assert status(stranger).get("apps") == {} and deployment.client("db-1")["serverClasses"] == {}
    assert deployment.entries("applications")["web"]["clients"] == 0
    assert agent.stop() == 0 and stranger.stop() == 0
    check_exactly([server], lines)


def test_an_app_that_does_not_hold_is_refused_and_the_server_shows_why(
    own_server, forwarder, tmp_path
):
    deployment = DeploymentServer(own_server, tmp_path)
    log = tmp_path / "app.log"
    append(log, f"{TIME} first")
    deployment.app("web", monitor(log))
    deployment.reload()
    agent = agent_of(forwarder, deployment).start()
    check_exactly([deployment.server], [f"{TIME} first"])
    wait_for(lambda: "web" in apps_of(agent), "the status file has the app")
    before = apps_of(agent)["web"]
    deployment.app("web", "[monitor:///var/log\nindex main\n")
    deployment.reload()
    wait_for(lambda: deployment.result("web-1", "web") == "Fail", "the failure is shown")
    app = deployment.client("web-1")["applications"]["web"]
    assert app["failedReason"].startswith("default/inputs.conf:"), app
    assert app["installedChecksum"] == before and apps_of(agent)["web"] == before
    append(log, f"{TIME} second")
    check_exactly([deployment.server], [f"{TIME} first", f"{TIME} second"])
    failing = deployment.server.rest(
        "GET", f"{DEPLOYMENT}/clients?output_mode=json&hasDeploymentError=1"
    )
    assert len(failing.json()["entry"]) == 1
    # Links are not handed out, and forwarders keep what they have.
    (deployment.conf / "deployment-apps/web/default/link").symlink_to("/etc/passwd")
    assert "symbolic link" in json.dumps(deployment.reload()["messages"])
    deployment.write("system/local/serverclass.conf", CLASSES.replace("web-*", "web-("))
    answer = deployment.server.rest("POST", f"{DEPLOYMENT}/config/_reload?output_mode=json", {})
    assert answer.status == 400 and "serverclass.conf:4" in answer.text, answer
    assert agent.stop() == 0
    assert "is refused" in agent.log_text()


def test_only_who_has_the_key_gets_apps(own_server, forwarder, tmp_path):
    deployment = DeploymentServer(own_server, tmp_path)
    deployment.app("web", monitor(tmp_path / "x.log"))
    deployment.reload()
    other = "[deployment]\npass4SymmKey = wrong\n"
    stranger = agent_of(forwarder, deployment, name="web-2", key=other).start()
    error = lambda agent: status(agent).get("last_error") or ""  # noqa: E731
    wait_for(lambda: "not signed with the deployment server's key" in error(stranger), "refused")
    keyless = agent_of(forwarder, deployment, name="web-3", key="").start()
    wait_for(lambda: "there is no key" in error(keyless), "it does not ask")
    assert deployment.entries("clients") == {}
    path = "/services/streams/deployment?name=web&checksum=" + "a" * 64
    assert deployment.server.rest("GET", path, auth=None).status == 403
    assert deployment.server.rest("GET", f"{DEPLOYMENT}/clients", auth=None).status == 401
    # The server's own certificate is verified where a CA is named.
    certificate = deployment.server.data / "auth" / "server.pem"
    trusting = agent_of(
        forwarder, deployment, name="web-4", caCertFile=certificate
    ).start()
    wait_for(lambda: deployment.result("web-4", "web") == "Ok", "with a verified certificate")
    assert all(agent.stop() == 0 for agent in (stranger, keyless, trusting))


def test_a_restart_of_the_process_follows_where_an_app_wants_it(own_server, forwarder, tmp_path):
    classes = CLASSES + "restartSplunkd = true\n"
    deployment = DeploymentServer(own_server, tmp_path, classes)
    log = tmp_path / "app.log"
    append(log, f"{TIME} first")
    agent = agent_of(forwarder, deployment).start()
    wait_for(lambda: status(agent).get("last_phone_home"), "it has asked")
    assert agent.log_text().count("is ready") == 1
    pid = agent.process.pid
    deployment.app("web", monitor(log))
    deployment.reload()
    check_exactly([deployment.server], [f"{TIME} first"])
    wait_for(lambda: agent.log_text().count("is ready") == 2, "it starts again")
    assert agent.status()["pid"] == pid and agent.stop() == 0


def test_a_kill_at_any_moment_leaves_whole_versions(own_server, forwarder, tmp_path):
    dice = random.Random(SEED)
    deployment = DeploymentServer(own_server, tmp_path)
    log = tmp_path / "app.log"
    lines = []
    agent = agent_of(forwarder, deployment)
    for round_ in range(12):
        lines.append(f"{TIME} round {round_}")
        append(log, lines[-1])
        deployment.app("web", monitor(log))
        for n in range(40):
            deployment.write(f"deployment-apps/web/lookups/{n}.csv", f"version\n{round_}\n" * 50)
        deployment.reload()
        agent.start()
        time.sleep(dice.uniform(0, 2.5))
        agent.kill()
        state = agent.data / "deployment" / "state.json"
        apps = json.loads(state.read_text())["apps"] if state.exists() else {}
        for app, checksum in apps.items():
            folder = agent.data / "deployment/versions" / f"{app}-{checksum}" / "apps" / app
            texts = {path.read_text() for path in folder.glob("lookups/*.csv")}
            assert len(texts) == 1, "files of two versions"
            assert len(list(folder.glob("lookups/*.csv"))) == 40
    agent.start()
    # The status file of the process before may have the last version already.
    wait_for(lambda: agent.status()["pid"] == agent.process.pid, "it runs", 60)
    wanted = deployment.entries("applications")["web"]["checksum"]
    wait_for(lambda: status(agent).get("apps", {}).get("web") == wanted, "the last version", 60)
    text = (deployed(agent, "web") / "lookups" / "0.csv").read_text()
    assert text == "version\n11\n" * 50
    left = list(pathlib.Path(agent.data / "deployment" / "versions").iterdir())
    assert len(left) == 1, left
    check_exactly([deployment.server], lines)
    assert agent.stop() == 0
