//! Options of `karst user` and `karst token`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ClientOptions;

#[derive(Debug, Args)]
pub(crate) struct UserOptions {
    #[command(subcommand)]
    pub(crate) what: UserWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserWhat {
    /// Set a user's password, of a server that runs or of one that is stopped.
    Password(PasswordOptions),
    /// List users.
    List(ListUsersOptions),
    /// Add a user.
    Add(AddUserOptions),
    /// Let a user in again: forgets wrong passwords, and ends a lock.
    Unlock(UserName),
    /// Keep a user out: ends the user's sessions.
    Lock(UserName),
    /// Remove a user with the user's tokens.
    Remove(UserName),
}

/// Where users are kept, for commands that work without a server.
#[derive(Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// Where the server keeps buckets and catalog, if it does not run. Default: <data-dir>/objects.
    #[arg(long, env = "KARST_OBJECT_STORE")]
    pub(crate) object_store: Option<String>,
    /// The server's directory of .conf layers, if it does not run.
    #[arg(long, env = "KARST_CONF_DIR")]
    pub(crate) conf_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PasswordOptions {
    /// The user.
    #[arg(default_value = "admin")]
    pub(crate) name: String,
    /// Make a password up, and print it. Otherwise it is asked for, or read from standard input.
    #[arg(long)]
    pub(crate) generate: bool,
    /// The user has to change it at the next login.
    #[arg(long)]
    pub(crate) must_change: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ListUsersOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AddUserOptions {
    /// Login name.
    pub(crate) name: String,
    /// A role (may be given more than once).
    #[arg(long = "role", default_value = "user")]
    pub(crate) roles: Vec<String>,
    /// Make a password up, and print it. Otherwise it is asked for, or read from standard input.
    #[arg(long)]
    pub(crate) generate: bool,
    /// The user has to change the password at the first login.
    #[arg(long)]
    pub(crate) must_change: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct UserName {
    /// The user.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct TokenOptions {
    #[command(subcommand)]
    pub(crate) what: TokenWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenWhat {
    /// Make a token for the REST API, and print it.
    Create(CreateTokenOptions),
    /// List tokens.
    List(ListUsersOptions),
    /// Remove a token for good.
    Revoke(RevokeTokenOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenOptions {
    /// What it is for.
    pub(crate) audience: String,
    /// For whom. Default: who asks.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Until when: +30d, epoch seconds, 2027-01-31T00:00:00Z, never.
    #[arg(long, default_value = "+30d")]
    pub(crate) expires: String,
    /// From when on, in the same forms. Default: now.
    #[arg(long)]
    pub(crate) not_before: Option<String>,
    /// Keep it nowhere: it cannot be listed or revoked, and lasts 6 hours at most.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// The capabilities it has, of those of the user (may be given more than once). Default: all.
    #[arg(long = "capability")]
    pub(crate) capabilities: Vec<String>,
    /// The indexes it searches, of those the user may (with *, may be given more than once). Default:
    /// all.
    #[arg(long = "index")]
    pub(crate) indexes: Vec<String>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeTokenOptions {
    /// Its id, as `karst token list` shows it.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}
