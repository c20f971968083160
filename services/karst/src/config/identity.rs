//! Options of `karst user` and `karst token`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ClientOptions, OutputOption};

#[derive(Debug, Args)]
pub(crate) struct UserOptions {
    #[command(subcommand)]
    pub(crate) what: UserWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserWhat {
    /// Set a user's password, on a running or a stopped server.
    Password(PasswordOptions),
    /// List users.
    List(ListingOptions),
    /// Add a user.
    Add(AddUserOptions),
    /// Unlock a user, and clear wrong passwords.
    Unlock(UserName),
    /// Lock a user, and end the user's sessions.
    Lock(UserName),
    /// Remove a user and the user's tokens.
    Remove(UserName),
}

/// The store of users, for commands that work without a server.
#[derive(Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
    /// Object store of a stopped server. Default: DATA_DIR/objects.
    #[arg(long, env = "KARST_OBJECT_STORE", value_parser = super::store_url)]
    pub(crate) object_store: Option<String>,
    /// Directory of .conf layers of a stopped server.
    #[arg(long, env = "KARST_CONF_DIR")]
    pub(crate) conf_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PasswordOptions {
    /// The user.
    #[arg(default_value = "admin")]
    pub(crate) name: String,
    /// Generate a password and print it. Default: prompt for it, or read it from standard input.
    #[arg(long)]
    pub(crate) generate: bool,
    /// Force the user to change the password at the next login.
    #[arg(long)]
    pub(crate) must_change: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ListingOptions {
    #[command(flatten)]
    pub(crate) format: OutputOption,
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
    /// Generate a password and print it. Default: prompt for it, or read it from standard input.
    #[arg(long)]
    pub(crate) generate: bool,
    /// Force the user to change the password at the first login.
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
    /// Create an API token and print it.
    Create(CreateTokenOptions),
    /// List tokens.
    List(ListingOptions),
    /// Remove a token.
    Revoke(RevokeTokenOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenOptions {
    /// Purpose of the token.
    pub(crate) audience: String,
    /// User of the token. Default: the caller.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Expiry: +30d, epoch seconds, 2027-01-31T00:00:00Z, never.
    #[arg(long, default_value = "+30d")]
    pub(crate) expires: String,
    /// Start of validity, in the same formats. Default: now.
    #[arg(long)]
    pub(crate) not_before: Option<String>,
    /// Do not store the token: it cannot be listed or revoked, and lasts 6 hours at most.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Restrict it to these capabilities of the user (may be given more than once). Default: all.
    #[arg(long = "capability")]
    pub(crate) capabilities: Vec<String>,
    /// Restrict it to these indexes of the user (with *, may be given more than once). Default:
    /// all.
    #[arg(long = "index")]
    pub(crate) indexes: Vec<String>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeTokenOptions {
    /// The token ID, see `karst token list`.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}
