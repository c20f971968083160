//! The initial user and HEC token, and the local session file.
//!
//! Generated credentials are written to `auth/initial-password` before they take effect, and
//! printed once the server runs, so that a failed start or a scrolled terminal loses nothing. The
//! file is deleted at the first start after the password was changed.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use access::{Accounts, HecToken, HecTokens, NewUser};
use anyhow::{Context, Result};
use model::IndexName;
use runtime::Shutdown;

use super::assemble::Karst;
use super::identity::write_once;
use crate::cli::LocalSession;
use crate::config::ServerOptions;

const USER: &str = "admin";
const HEAD: &str =
    "# Made up at the first start. Change the password; the next start removes this file then.\n";

/// Pause between the attempts to write a session file.
const SESSION_PAUSE: Duration = Duration::from_secs(5);

/// The file with the generated credentials.
#[derive(Debug)]
pub(crate) struct InitialPassword {
    path: PathBuf,
    /// Marker file: exists until the credentials have been printed.
    unshown: PathBuf,
}

impl InitialPassword {
    pub(crate) fn below(data: &Path) -> Self {
        let path = data.join("auth/initial-password");
        let unshown = path.with_extension("unshown");
        Self { path, unshown }
    }

    /// Creates the user admin and a HEC token if there are none, and this process leads: otherwise the leader
    /// does.
    ///
    /// # Errors
    /// If the file or the catalog cannot be written.
    pub(crate) async fn make(
        &self,
        options: &ServerOptions,
        accounts: &Accounts,
        tokens: &HecTokens,
        leads: bool,
    ) -> Result<()> {
        let mut lines = String::new();
        let password = (leads && accounts.is_empty()).then(|| {
            options.password.clone().unwrap_or_else(|| {
                let password = accounts.password_policy().made_up();
                lines.push_str(&format!("user {USER}\npassword {password}\n"));
                password
            })
        });
        let secret = (leads && tokens.is_empty()).then(|| {
            options.hec_token.clone().unwrap_or_else(|| {
                let secret = runtime::random::uuid().to_string();
                lines.push_str(&format!("HEC token {secret}\n"));
                secret
            })
        });
        if !lines.is_empty() {
            self.keep(&lines)?;
        }
        if let Some(password) = password {
            let roles = vec!["admin".to_owned()];
            let admin = NewUser { name: USER.to_owned(), password, roles };
            accounts.put(admin).await.context("cannot create the user admin (KARST_PASSWORD)")?;
        }
        if let Some(secret) = secret {
            tokens.put(HecToken::new("default", &secret, IndexName::new("main")?)).await?;
        }
        self.forget_what_changed(accounts).await;
        Ok(())
    }

    /// Adds lines to the file, keeping those of an earlier start.
    fn keep(&self, lines: &str) -> Result<()> {
        let folder = self.path.parent().context("the file has a directory")?;
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let before = fs::read_to_string(&self.path).unwrap_or_default();
        let kind = |line: &str| line.rsplit_once(' ').map(|(kind, _)| kind.to_owned());
        let made: Vec<_> = lines.lines().map(kind).collect();
        let stays = |line: &&str| !line.starts_with('#') && !made.contains(&kind(line));
        let earlier: String =
            before.lines().filter(stays).map(|line| format!("{line}\n")).collect();
        write_once(&self.unshown, b"", 0o600)?;
        write_once(&self.path, format!("{HEAD}{earlier}{lines}").as_bytes(), 0o600)
    }

    /// Removes the file if the password was changed: an old password is useless, and a valid one should not
    /// be stored longer than necessary. Without a local user admin, the file is kept, because the catalog may
    /// be another one.
    async fn forget_what_changed(&self, accounts: &Accounts) {
        if !accounts.user(USER).is_some_and(|user| user.is_local()) {
            return;
        }
        let Ok(text) = fs::read_to_string(&self.path) else { return };
        let Some(password) = text.lines().find_map(|line| line.strip_prefix("password ")) else {
            return;
        };
        // A password that cannot be checked now may still be valid.
        let checked = accounts.verify(USER, password).await;
        if !checked.is_ok_and(|checked| !checked.is_right()) {
            return;
        }
        for path in [&self.path, &self.unshown] {
            let _ = fs::remove_file(path);
        }
        tracing::info!(path = %self.path.display(), "the first password was changed; its file is removed");
    }

    /// Prints credentials that have not been printed yet; called once the server runs.
    pub(crate) fn show(&self) {
        if !self.unshown.exists() {
            return;
        }
        let Ok(text) = fs::read_to_string(&self.path) else { return };
        println!("first start: note these down, they are not shown again");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.for_each(|line| println!("  {line}"));
        println!("  (kept in {} until the password is changed)", self.path.display());
        let _ = fs::remove_file(&self.unshown);
    }
}

/// The session file that this process has written.
#[derive(Debug)]
pub(crate) struct OwnSession {
    path: PathBuf,
    key: String,
}

/// Writes the session file, so that commands on the same data directory need no login. A file that cannot be
/// written does not end a server that can do its work: it is tried again until the server stops. A full disk
/// passes by itself, and is a warning; other reasons need somebody, and are errors.
///
/// # Errors
/// The session is not valid JSON.
pub(crate) fn leave_local_session(
    options: &ServerOptions,
    data: &Path,
    certificate: Option<&Path>,
    karst: &Karst,
) -> Result<OwnSession> {
    // Commands run in any directory.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let session = LocalSession {
        uri: management_uri(options),
        session_key: karst.state.accounts.local_session("admin"),
        certificate: certificate.filter(|_| !options.management_plain).map(absolute),
        pid: std::process::id(),
    };
    let text = serde_json::to_vec(&session)?;
    let own = OwnSession { path: LocalSession::path(data), key: session.session_key };
    if let Err(error) = write_once(&own.path, &text, 0o600) {
        let mut failures = Failures::default();
        failures.tell(&error);
        let (own, shutdown) = ((own.path.clone(), text), karst.state.shutdown.clone());
        karst.state.shutdown.spawn(write_later(own, SESSION_PAUSE, failures, shutdown));
    }
    Ok(own)
}

/// Tries to write a session file until it is written or the server stops.
async fn write_later(
    (path, text): (PathBuf, Vec<u8>),
    pause: Duration,
    mut failures: Failures,
    shutdown: Shutdown,
) {
    while shutdown.sleep(pause).await {
        match write_once(&path, &text, 0o600) {
            Ok(()) => {
                return tracing::info!(path = %path.display(), "the session of commands is stored");
            }
            Err(error) => failures.tell(&error),
        }
    }
}

/// The attempts to write a session file that have failed.
#[derive(Debug, Default)]
struct Failures {
    /// The last reason.
    reason: String,
}

impl Failures {
    /// Logs a failure, unless the last one had the same reason.
    fn tell(&mut self, error: &anyhow::Error) {
        if !self.is_new(error) {
            return;
        }
        let seconds = SESSION_PAUSE.as_secs();
        let text = format!(
            "commands on this machine need a login until their session can be stored, which is tried every \
             {seconds} s: {error:#}"
        );
        if runtime::store::is_full(&**error) {
            tracing::warn!("{text}");
        } else {
            tracing::error!("{text}");
        }
    }

    fn is_new(&mut self, error: &anyhow::Error) -> bool {
        let reason = format!("{error:#}");
        let is_new = reason != self.reason;
        self.reason = reason;
        is_new
    }
}

/// The address of the management port for programs on this machine.
pub(crate) fn management_uri(options: &ServerOptions) -> String {
    let scheme = if options.management_plain { "http" } else { "https" };
    format!("{scheme}://{}", from_here(options.management_address))
}

/// Returns the address of a port for clients on this machine: no certificate is valid for 0.0.0.0.
fn from_here(mut bound: SocketAddr) -> SocketAddr {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => bound.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => bound.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    bound
}

/// Removes the session file of any process.
pub(crate) fn remove_local_session(data: &Path) {
    // The file may already have been removed.
    let _ = fs::remove_file(LocalSession::path(data));
}

impl OwnSession {
    /// Removes the file, unless it belongs to another server: the data directory may have been replaced. In
    /// containers, both may have the same process ID.
    pub(crate) fn remove(&self) {
        let text = fs::read(&self.path).unwrap_or_default();
        let session = serde_json::from_slice::<LocalSession>(&text);
        if session.is_ok_and(|session| session.session_key == self.key) {
            // The file may already have been removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use access::{AuthenticationSettings, UserChange};
    use catalog::Catalog;
    use object_store::memory::InMemory;
    use runtime::SystemClock;

    use super::*;

    #[test]
    fn a_server_removes_only_the_session_file_that_it_has_written() {
        let data = tempfile::tempdir().unwrap();
        let path = LocalSession::path(data.path());
        let own = OwnSession { path: path.clone(), key: "own".to_owned() };
        for (key, stays) in [("other", true), ("own", false)] {
            let (uri, session_key) = ("http://127.0.0.1:1".to_owned(), key.to_owned());
            let session = LocalSession { uri, session_key, certificate: None, pid: 1 };
            fs::write(&path, serde_json::to_vec(&session).unwrap()).unwrap();
            own.remove();
            assert_eq!(path.exists(), stays);
        }
    }

    #[tokio::test]
    async fn a_session_file_that_cannot_be_written_is_tried_again_until_the_stop() {
        let (folder, shutdown) = (tempfile::tempdir().unwrap(), Shutdown::new());
        let (data, never) = (folder.path().join("data"), folder.path().join("never"));
        let later = |data: &Path| {
            let (own, pause) =
                ((LocalSession::path(data), b"{}".to_vec()), Duration::from_millis(5));
            shutdown.spawn(write_later(own, pause, Failures::default(), shutdown.clone()))
        };
        let (written, endless) = (later(&data), later(&never));
        fs::create_dir(&data).unwrap();
        written.await.unwrap();
        assert_eq!(fs::read(LocalSession::path(&data)).unwrap(), b"{}");
        shutdown.finish(Duration::from_secs(20)).await.unwrap();
        endless.await.unwrap();
        assert!(!LocalSession::path(&never).exists());
    }

    #[test]
    fn a_session_file_that_cannot_be_written_is_told_again_for_another_reason() {
        let mut failures = Failures::default();
        let full = || anyhow::anyhow!("no space left on device").context("cannot write a file");
        let denied = || anyhow::anyhow!("permission denied").context("cannot write a file");
        assert!(failures.is_new(&full()) && !failures.is_new(&full()));
        assert!(failures.is_new(&denied()) && !failures.is_new(&denied()));
        assert!(failures.is_new(&full()));
    }

    #[test]
    fn the_command_line_asks_for_an_address_that_the_certificate_has() {
        let reached = |bound: &str| from_here(bound.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:8089"), "127.0.0.1:8089");
        assert_eq!(reached("[::]:8089"), "[::1]:8089");
        assert_eq!(reached("10.0.0.5:8089"), "10.0.0.5:8089");
    }

    #[tokio::test]
    async fn the_file_is_removed_only_if_the_password_of_admin_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(SystemClock));
        let settings = catalog::Settings::default();
        let catalog = Catalog::open(store, "catalog", settings, clock.clone()).await.unwrap();
        let settings = AuthenticationSettings::default();
        let accounts = Accounts::load(catalog, settings, clock).await.unwrap();
        let initial = InitialPassword::below(dir.path());
        initial.keep("user admin\npassword correct horse\n").unwrap();
        initial.forget_what_changed(&accounts).await;
        assert!(initial.path.exists(), "there is no user admin");

        let (name, password) = (USER.to_owned(), "correct horse".to_owned());
        let roles = vec!["admin".to_owned()];
        accounts.put(NewUser { name, password, roles }).await.unwrap();
        initial.forget_what_changed(&accounts).await;
        assert!(initial.path.exists(), "the password is the same");

        let password = Some("battery staple".to_owned());
        let change = UserChange { password, ..UserChange::default() };
        assert!(accounts.change(USER, change, None).await.unwrap());
        initial.forget_what_changed(&accounts).await;
        assert!(!initial.path.exists() && !initial.unshown.exists());
    }

    #[test]
    fn what_was_made_up_is_kept_privately_and_shown_once() {
        let dir = tempfile::tempdir().unwrap();
        let initial = InitialPassword::below(dir.path());
        initial.keep("user admin\npassword one\nHEC token abc\n").unwrap();
        // A failed start generated another password, and the token is still valid.
        initial.keep("user admin\npassword two\n").unwrap();
        let text = fs::read_to_string(&initial.path).unwrap();
        assert_eq!(text, format!("{HEAD}HEC token abc\nuser admin\npassword two\n"));
        assert_eq!(initial.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(initial.unshown.exists());
        initial.show();
        assert!(initial.path.exists() && !initial.unshown.exists());
    }
}
