//! Files, processes and connections that the sandbox denies and grants.

use std::net::TcpListener;

use karst_scripts::Sandbox;

use super::*;

/// Whether the kernel has all that the sandbox needs; prints the reason if not.
fn is_complete(settings: &Settings) -> bool {
    match settings.unrestricted() {
        None => true,
        Some(reason) => {
            println!("skipped: {reason}");
            false
        }
    }
}

/// A command whose program runs these statements with `given` and prints what they leave in `n`.
fn python(app: &App, given: &Path, statements: &str) -> Command {
    let text = format!(
        "import os, socket, subprocess, sys, tempfile\ngiven = {:?}\n{statements}\nprint('n')\nprint(n)\n",
        given.display().to_string()
    );
    app.command("x.py", &text, Protocol::Legacy(legacy()))
}

/// The version of the kernel.
fn release() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

async fn result(command: Command, settings: &Settings) -> Result<String, String> {
    let ran = run(command, info(&[]), &numbers(1), settings).await;
    ran.map(|(tables, _, _)| values(&tables, "n").concat()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn private_files_are_not_read_also_below_a_directory_that_is_granted() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("key"), "secret").unwrap();
    std::fs::write(place.path().join("open"), "known").unwrap();
    let granted = Settings {
        sandbox_read: vec![place.path().display().to_string()],
        private_paths: vec![data.clone()],
        ..Settings::default()
    };
    if !is_complete(&granted) {
        return;
    }
    let app = App::new();
    std::os::unix::fs::symlink(data.join("key"), app.path("link")).unwrap();
    for (file, settings) in [
        (data.join("key"), &Settings::default()),
        (data.join("key"), &granted),
        (app.path("link"), &granted),
        (place.path().join("open"), &Settings::default()),
    ] {
        let denied = result(python(&app, &file, "n = open(given).read()"), settings).await;
        let error = denied.unwrap_err();
        assert!(error.contains("Permission denied") && error.contains("sandbox_read"), "{error}");
    }
    let read = python(&app, &place.path().join("open"), "n = open(given).read()");
    assert_eq!(result(read, &granted).await.unwrap(), "known");
    let off = Settings { sandbox: Sandbox::Off, ..granted };
    let read = python(&app, &data.join("key"), "n = open(given).read()");
    assert_eq!(result(read, &off).await.unwrap(), "secret");
}

#[tokio::test]
async fn files_are_written_in_the_directory_of_the_run_only() {
    let settings = Settings { sandbox: Sandbox::Required, ..Settings::default() };
    if !is_complete(&settings) {
        return;
    }
    let app = App::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let existing = elsewhere.path().join("x");
    std::fs::write(&existing, "kept").unwrap();
    for (given, statement) in [
        (app.path("new"), "n = open(given, 'w')"),
        (existing.clone(), "n = open(given, 'a')"),
        (existing.clone(), "n = os.truncate(given, 0)"),
        (existing.clone(), "n = os.remove(given)"),
        (elsewhere.path().to_owned(), "n = os.mkdir(given + '/d')"),
    ] {
        let error = result(python(&app, &given, statement), &settings).await.unwrap_err();
        assert!(error.contains("Permission denied"), "{statement}: {error}");
    }
    assert_eq!(std::fs::read_to_string(&existing).unwrap(), "kept");
    let text = "\
os.makedirs(os.environ['TMPDIR'] + '/a/b')
with tempfile.NamedTemporaryFile('w+', delete=False) as file:
    file.write('7')
os.rename(file.name, os.environ['TMPDIR'] + '/a/b/c')
open('/dev/null', 'w').write('x')
command = 'cat $TMPDIR/a/b/c 2>/dev/null; echo to stderr > /dev/stderr; head -c 1 /dev/urandom | wc -c'
n = subprocess.check_output(['sh', '-c', command], text=True).replace('\\n', '')
";
    let written = result(python(&app, elsewhere.path(), text), &settings).await.unwrap();
    assert_eq!(written.replace(' ', ""), "71");
    // Python itself, with modules in C, names of machines and users, and facts of the system.
    let text = "import ctypes, hashlib, pwd, ssl, sqlite3, zoneinfo\n\
                socket.getaddrinfo('localhost', 80)\nssl.create_default_context()\n\
                n = open('/proc/meminfo').read().strip() and pwd.getpwuid(0).pw_name";
    assert_eq!(result(python(&app, elsewhere.path(), text), &settings).await.unwrap(), "root");
}

#[tokio::test]
async fn the_process_of_the_server_is_out_of_reach() {
    let settings = Settings::default();
    if !is_complete(&settings) {
        return;
    }
    let app = App::new();
    let server = PathBuf::from(format!("/proc/{}", std::process::id()));
    for file in ["environ", "cmdline", "maps", "mem"] {
        let read = python(&app, &server.join(file), "n = open(given, 'rb').read(1)");
        let error = result(read, &settings).await.unwrap_err();
        assert!(error.contains("Permission denied"), "{file}: {error}");
    }
    if release() < (6, 12) {
        return;
    }
    let signal = python(&app, Path::new(""), &format!("n = os.kill({}, 0)", std::process::id()));
    let error = result(signal, &settings).await.unwrap_err();
    assert!(error.contains("Operation not permitted"), "{error}");
}

#[tokio::test]
async fn connections_are_granted_unless_a_setting_denies_them() {
    let settings = Settings { sandbox_network: false, ..Settings::default() };
    if !is_complete(&settings) {
        return;
    }
    let app = App::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = PathBuf::from(listener.local_addr().unwrap().port().to_string());
    let text = "socket.create_connection(('127.0.0.1', int(given))).close()\nn = 'connected'";
    let connected = result(python(&app, &port, text), &Settings::default()).await;
    assert_eq!(connected.unwrap(), "connected");
    let error = result(python(&app, &port, text), &settings).await.unwrap_err();
    assert!(error.contains("Permission denied"), "{error}");
}

#[tokio::test]
async fn settings_of_other_apps_are_left_out_and_their_code_is_found() {
    let etc = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("apps/own/default/x.conf", "[s]\na = own\n"),
        ("apps/own/local/x.conf", "[s]\nb = local\n"),
        ("apps/other/default/x.conf", "[s]\na = other\nc = other\n"),
        ("apps/other/local/x.conf", "[s]\nd = secret\n"),
        ("apps/other/bin/shared.py", "value = 7\n"),
        ("system/local/x.conf", "[s]\nd = secret\n"),
        (
            "apps/own/bin/x.py",
            "import os, sys\nsys.path.append(os.environ['SPLUNK_ETC'] + '/apps/other/bin')\n\
             import shared\nfrom splunk.clilib import cli_common\n\
             found = sorted(cli_common.getConfStanza('x', 's').items())\n\
             print('n')\nprint(' '.join(k + '=' + v for k, v in found), shared.value)\n",
        ),
    ] {
        let path = etc.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let private = vec![etc.path().to_owned()];
    let settings = Settings { private_paths: private, ..Settings::default() };
    if !is_complete(&settings) {
        return;
    }
    let mut own = command(&etc.path().join("apps/own/bin/x.py"), Protocol::Legacy(legacy()));
    own.script.environment = vec![("SPLUNK_ETC".to_owned(), etc.path().display().to_string())];
    assert_eq!(result(own, &settings).await.unwrap(), "a=own b=local c=other 7");
}
