//! The first user and the first token, and the session the server keeps for its own user.
//!
//! What is made up is written to `auth/initial-password` before it counts, and printed once the server
//! runs: a start that fails after it, or a terminal that scrolls, loses nothing. The file goes at the first
//! start that finds the password changed.

use std::fs;
use std::path::{Path, PathBuf};

use access::{Accounts, HecToken, HecTokens, NewUser};
use anyhow::{Context, Result};
use model::IndexName;

use super::assemble::Karst;
use super::identity::write_once;
use crate::cli::LocalSession;
use crate::config::ServerOptions;

const USER: &str = "admin";
const HEAD: &str =
    "# Made up at the first start. Change the password; the next start removes this file then.\n";

/// What the server made up for its first user, in its data directory.
#[derive(Debug)]
pub(crate) struct InitialPassword {
    path: PathBuf,
    /// There while nobody has been shown it.
    unshown: PathBuf,
}

impl InitialPassword {
    pub(crate) fn below(data: &Path) -> Self {
        let path = data.join("auth/initial-password");
        let unshown = path.with_extension("unshown");
        Self { path, unshown }
    }

    /// Creates the user admin and a HEC token where there are none.
    ///
    /// # Errors
    /// The file or the catalog cannot be written.
    pub(crate) async fn make(
        &self,
        options: &ServerOptions,
        accounts: &Accounts,
        tokens: &HecTokens,
    ) -> Result<()> {
        let mut lines = String::new();
        let password = accounts.is_empty().then(|| {
            options.password.clone().unwrap_or_else(|| {
                let password = accounts.password_policy().made_up();
                lines.push_str(&format!("user {USER}\npassword {password}\n"));
                password
            })
        });
        let secret = tokens.is_empty().then(|| {
            options.hec_token.clone().unwrap_or_else(|| {
                let secret = uuid::Uuid::new_v4().to_string();
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

    /// Puts lines into the file, beside what an earlier start has made up.
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

    /// A password that is not the user's any more is of no use, and one that is should not lie about
    /// longer than it must.
    async fn forget_what_changed(&self, accounts: &Accounts) {
        let Ok(text) = fs::read_to_string(&self.path) else { return };
        let Some(password) = text.lines().find_map(|line| line.strip_prefix("password ")) else {
            return;
        };
        // One that cannot be checked now may still be right.
        let checked = accounts.verify(USER, password).await;
        if !checked.is_ok_and(|checked| !checked.is_right()) {
            return;
        }
        for path in [&self.path, &self.unshown] {
            let _ = fs::remove_file(path);
        }
        tracing::info!(path = %self.path.display(), "the first password was changed; its file is removed");
    }

    /// Prints what nobody has been shown yet; once the server runs.
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

/// Lets commands with the same data directory, run by whoever may read it, ask without logging in.
pub(crate) fn leave_local_session(
    options: &ServerOptions,
    data: &Path,
    certificate: Option<&Path>,
    karst: &Karst,
) -> Result<()> {
    let scheme = if options.management_plain { "http" } else { "https" };
    let session = LocalSession {
        uri: format!("{scheme}://{}", options.management_address),
        session_key: karst.state.accounts.local_session("admin"),
        certificate: certificate.filter(|_| !options.management_plain).map(Path::to_owned),
        pid: std::process::id(),
    };
    write_once(&LocalSession::path(data), &serde_json::to_vec(&session)?, 0o600)
}

/// The session ends with the server.
pub(crate) fn remove_local_session(data: &Path) {
    // If it is gone already, so much the better.
    let _ = fs::remove_file(LocalSession::path(data));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_made_up_is_kept_privately_and_shown_once() {
        let dir = tempfile::tempdir().unwrap();
        let initial = InitialPassword::below(dir.path());
        initial.keep("user admin\npassword one\nHEC token abc\n").unwrap();
        // A start that failed has made up another password, and the token counts still.
        initial.keep("user admin\npassword two\n").unwrap();
        let text = fs::read_to_string(&initial.path).unwrap();
        assert_eq!(text, format!("{HEAD}HEC token abc\nuser admin\npassword two\n"));
        assert_eq!(initial.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(initial.unshown.exists());
        initial.show();
        assert!(initial.path.exists() && !initial.unshown.exists());
    }
}
