//! A deployment server over a directory, and forwarders that phone home.

use std::collections::BTreeMap;
use std::fs::File;

use super::*;
use crate::messages::{InstalledApp, Outcome, work};
use crate::{Limits, checksum, unpack};

const NOW: u64 = 1_764_000_000;
const CLASSES: &str = "[serverClass:web]\nwhitelist.0 = web*\n[serverClass:web:app:nginx]\n\
                       restartSplunkd = true\n[serverClass:all]\nwhitelist.0 = *\n\
                       [serverClass:all:app:base]\n";

struct Place {
    root: tempfile::TempDir,
    server: DeploymentServer,
    key: Key,
}

impl Place {
    /// A place with server classes, an app `base` and an app `nginx`.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let parts = Parts {
            conf_dir: Some(root.path().join("conf")),
            layers: Layers::builtin(),
            work: root.path().join("work"),
            token: Some("secret".to_owned()),
            server_name: "ds".to_owned(),
        };
        let place =
            Self { server: DeploymentServer::new(parts), root, key: Key::of("secret").unwrap() };
        place.write("system/local/serverclass.conf", CLASSES);
        place.write("deployment-apps/base/default/inputs.conf", "[monitor:///var/log]\n");
        place.write("deployment-apps/nginx/default/inputs.conf", "[monitor:///var/log/nginx]\n");
        place.server.reload(1).unwrap();
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join("conf").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn call(&self, message: &PhoneHome) -> Result<Answer, Error> {
        let (body, proof) = message.signed(&self.key)?;
        let ip = Some("::ffff:10.1.2.3".parse().unwrap());
        let (answer, proof) = self.server.phone_home(&body, &proof, ip, NOW)?;
        Answer::verified(&answer, &proof, &message.nonce, &self.key)
    }

    fn download(&self, app: &str, checksum: &str) -> Result<Download, Error> {
        let request =
            DownloadRequest { app: app.to_owned(), checksum: checksum.to_owned(), time: NOW };
        self.server.download(&request, &request.sign(&self.key), NOW)
    }
}

fn message(client: &str) -> PhoneHome {
    PhoneHome {
        version: VERSION,
        time: NOW,
        nonce: "n".to_owned(),
        guid: format!("guid-{client}"),
        client_name: client.to_owned(),
        hostname: "host".to_owned(),
        utsname: "linux-x86_64".to_owned(),
        build: "0.1".to_owned(),
        apps: Vec::new(),
        failed: Vec::new(),
    }
}

fn said(result: Result<Answer, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_forwarder_gets_its_apps_and_sees_changes_by_their_checksum() {
    let place = Place::new();
    let answer = place.call(&message("web-1")).unwrap();
    let shown = |answer: &Answer| {
        let apps = answer.apps.iter().map(|app| (app.name.clone(), app.restart_splunkd));
        apps.collect::<Vec<_>>()
    };
    assert_eq!(shown(&answer), [("base".to_owned(), false), ("nginx".to_owned(), true)]);
    assert_eq!(answer.server_name, "ds");
    for app in &answer.apps {
        let sum = app.checksum.clone().unwrap();
        let download = place.download(&app.name, &sum).unwrap();
        let limits = Limits { bytes: app.bytes, files: app.files };
        let files = unpack(File::open(&download.path).unwrap(), limits).unwrap();
        assert_eq!(checksum(&files), sum);
    }
    let installed: BTreeMap<_, _> =
        answer.apps.iter().map(|app| (app.name.clone(), app.checksum.clone().unwrap())).collect();
    assert!(work(&installed, &answer.apps).is_empty());
    // Changes a file and a class.
    place.write("deployment-apps/base/default/inputs.conf", "[monitor:///var/log/other]\n");
    let text = CLASSES.replace("web*", "www*");
    place.write("system/local/serverclass.conf", &text);
    place.server.reload(2).unwrap();
    let answer = place.call(&message("web-1")).unwrap();
    let todo = work(&installed, &answer.apps);
    assert_eq!(
        (todo.update[0].name.as_str(), &todo.remove[..]),
        ("base", &["nginx".to_owned()][..])
    );
    // The previous version is kept for running downloads, but is not distributed any more.
    assert!(
        place.download("base", &installed["base"]).unwrap_err().to_string().contains("phone home")
    );
}

#[test]
fn who_does_not_prove_the_key_learns_nothing() {
    let place = Place::new();
    let (body, proof) = message("web").signed(&place.key).unwrap();
    let ask = |body: &[u8], proof: &str| {
        place.server.phone_home(body, proof, None, NOW).unwrap_err().to_string()
    };
    assert!(ask(&body, "").contains("not signed"));
    assert!(ask(&[&body[..], b" "].concat(), &proof).contains("not signed"));
    let sum = "a".repeat(64);
    let request = DownloadRequest { app: "base".to_owned(), checksum: sum, time: NOW };
    let error = place.server.download(&request, &proof, NOW).unwrap_err();
    assert!(matches!(error, Error::Proof), "{error}");
    assert!(place.server.clients().is_empty());
}

#[test]
fn an_old_request_is_refused_and_says_by_how_much_the_clocks_differ() {
    let place = Place::new();
    let late = PhoneHome { time: NOW - 301, ..message("web") };
    assert!(said(place.call(&late)).contains("differs by 301 s"));
    assert!(place.call(&PhoneHome { time: NOW + 300, ..message("web") }).is_ok());
}

#[test]
fn a_mistake_leaves_the_rules_before_in_force() {
    let place = Place::new();
    place.write("system/local/serverclass.conf", &CLASSES.replace("web*", "web("));
    let error = place.server.reload(2).unwrap_err().to_string();
    assert!(error.contains("serverclass.conf:2: \"web(\" is not a pattern"), "{error}");
    assert_eq!(place.server.error(), Some(error));
    assert_eq!(place.call(&message("web")).unwrap().apps.len(), 2);
    place.write("system/local/serverclass.conf", CLASSES);
    place.server.reload(3).unwrap();
    assert_eq!(place.server.error(), None);
}

#[test]
fn an_app_that_cannot_be_handed_out_is_kept_by_forwarders() {
    let place = Place::new();
    let apps = place.root.path().join("conf/deployment-apps");
    std::os::unix::fs::symlink("/etc/passwd", apps.join("base/link")).unwrap();
    fs::remove_dir_all(apps.join("nginx")).unwrap();
    place.server.reload(2).unwrap();
    let answer = place.call(&message("web")).unwrap();
    assert!(answer.apps.iter().all(|app| app.checksum.is_none()), "{answer:?}");
    let installed = ["base", "nginx"].map(|name| (name.to_owned(), "a".repeat(64)));
    assert!(work(&installed.into(), &answer.apps).is_empty());
    let remarks = place.server.remarks().join("\n");
    assert!(remarks.contains("link is a symbolic link"), "{remarks}");
    assert!(remarks.contains("nginx of the server class web is not distributed: there is no"));
}

#[test]
fn a_server_without_classes_or_key_answers_nobody() {
    let place = Place::new();
    place.write("system/local/serverclass.conf", "[global]\ndisabled = true\n[serverClass:a]\n");
    place.server.reload(2).unwrap();
    assert!(said(place.call(&message("web"))).contains("is not a deployment server"));
    let root = tempfile::tempdir().unwrap();
    let text = "[serverClass:a]\nwhitelist.0 = *\n";
    let parts = |text: &str| Parts {
        conf_dir: None,
        layers: Layers::builtin().with(conf::Layer::SystemLocal, "serverclass", text),
        work: root.path().to_owned(),
        token: None,
        server_name: String::new(),
    };
    let keyless = DeploymentServer::new(parts(text));
    let ask =
        |server: &DeploymentServer| server.phone_home(b"", "", None, NOW).unwrap_err().to_string();
    assert!(ask(&keyless).contains("cannot be used"));
    keyless.reload(1).unwrap();
    assert!(ask(&keyless).contains("has no key"));
    assert!(keyless.remarks()[0].contains("pass4SymmKey"));
}

#[test]
fn changes_count_once_they_are_the_same_twice() {
    let place = Place::new();
    assert!(place.server.look(2).is_none() && place.server.look(2).is_none());
    place.write("deployment-apps/base/default/props.conf", "[x]\n");
    assert!(place.server.look(3).is_none());
    place.write("deployment-apps/base/default/transforms.conf", "[x]\n");
    assert!(place.server.look(4).is_none());
    assert!(place.server.look(5).unwrap().is_ok());
    assert!(place.server.look(6).is_none());
    let view = place.server.view().unwrap();
    let (base, classes) = &view.apps["base"];
    assert_eq!((base.content.as_ref().unwrap().files, &classes[..]), (3, &["all".to_owned()][..]));
    assert_eq!((view.loaded, view.apps["nginx"].0.loaded), (5, 1));
}

#[test]
fn classes_of_a_disabled_app_have_no_effect() {
    let place = Place::new();
    let class = "[serverClass:more]\nwhitelist.0 = db*\n[serverClass:more:app:nginx]\n";
    place.write("apps/classes/default/serverclass.conf", class);
    place.server.reload(2).unwrap();
    let apps = || {
        let answer = place.call(&message("db-1")).unwrap();
        answer.apps.iter().map(|app| app.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(apps(), ["base", "nginx"]);
    assert!(place.server.look(3).is_none() && place.server.look(4).is_none());
    place.write("apps/classes/local/app.conf", "[install]\nstate = disabled\n");
    assert!(place.server.look(5).is_none());
    assert!(place.server.look(6).unwrap().is_ok());
    assert_eq!(apps(), ["base"]);
}

#[test]
fn downloads_at_a_time_are_limited() {
    let place = Place::new();
    place.write(
        "system/local/serverclass.conf",
        &format!("[global]\nmaxConcurrentDownloads = 1\n{CLASSES}"),
    );
    place.server.reload(2).unwrap();
    let answer = place.call(&message("db")).unwrap();
    let sum = answer.apps[0].checksum.clone().unwrap();
    let first = place.download("base", &sum).unwrap();
    assert_eq!(place.server.downloads(), 1);
    assert!(matches!(place.download("base", &sum), Err(Error::Busy(1))));
    drop(first);
    assert!(place.download("base", &sum).is_ok());
    assert_eq!(place.server.downloads(), 0);
}

#[test]
fn an_app_without_a_directory_is_shown_as_failed() {
    let place = Place::new();
    place.write(
        "system/local/serverclass.conf",
        &format!("{CLASSES}[serverClass:all:app:missing]\n"),
    );
    place.server.reload(2).unwrap();
    place.call(&message("db")).unwrap();
    let [client] = &place.server.clients()[..] else { panic!("one client") };
    let missing = &client.apps["missing"];
    assert_eq!((missing.action(), missing.result()), ("Noop", "Fail"));
    assert!(missing.failed.as_deref().unwrap().contains("no directory"), "{:?}", missing.failed);
    assert_eq!(place.server.counts().failed["missing"], 1);
}

#[test]
fn forwarders_are_listed_with_what_they_have_and_what_failed() {
    let place = Place::new();
    let answer = place.call(&message("web-1")).unwrap();
    let sums: Vec<_> = answer.apps.iter().map(|app| app.checksum.clone().unwrap()).collect();
    let app =
        |name: &str, sum: &str| InstalledApp { name: name.to_owned(), checksum: sum.to_owned() };
    let reason = "inputs.conf:1: bad".to_owned();
    let again = PhoneHome {
        apps: vec![app("base", &sums[0]), app("old", &sums[0])],
        failed: vec![Outcome { app: "nginx".to_owned(), checksum: sums[1].clone(), reason }],
        ..message("web-1")
    };
    place.call(&again).unwrap();
    let [client] = &place.server.clients()[..] else { panic!("one client") };
    assert_eq!((client.facts.ip.as_str(), client.calls), ("10.1.2.3", 2));
    assert_eq!(client.classes, ["web", "all"]);
    let shown: Vec<_> =
        client.apps.iter().map(|(name, app)| (&**name, app.action(), app.result())).collect();
    let expected =
        [("base", "Noop", "Ok"), ("nginx", "Install", "Fail"), ("old", "Uninstall", "Pending")];
    assert_eq!(shown, expected);
    assert_eq!(client.apps["nginx"].failed.as_deref(), Some("inputs.conf:1: bad"));
    let counts = place.server.counts();
    assert_eq!((counts.clients, counts.by_class["all"], counts.by_class["web"]), (1, 1, 1));
    assert_eq!((counts.installed["base"], counts.failed["nginx"]), (1, 1));
    assert_eq!(counts.by_machine_type["linux-x86_64"], 1);
    assert!(place.server.forget("guid-web-1") && place.server.clients().is_empty());
}
