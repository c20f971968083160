//! The first user and the first token, and the session the server keeps for its own user.

use std::fs;

use access::{Accounts, HecToken, HecTokens, NewUser};
use anyhow::Result;
use model::IndexName;
use rand::distr::{Alphanumeric, SampleString};

use super::assemble::Karst;
use super::identity::write_once;
use crate::cli::LocalSession;
use crate::config::ServerOptions;

/// Creates the user admin and a HEC token where there are none, and prints what it made up, once.
pub(crate) async fn first_start(
    options: &ServerOptions,
    accounts: &Accounts,
    tokens: &HecTokens,
) -> Result<()> {
    let mut made_up = Vec::new();
    if accounts.is_empty() {
        let password = options.password.clone().unwrap_or_else(|| {
            let password = Alphanumeric.sample_string(&mut rand::rng(), 16);
            made_up.push(format!("user admin, password {password}"));
            password
        });
        let admin = NewUser { name: "admin".to_owned(), password, roles: vec!["admin".to_owned()] };
        accounts.put(admin).await?;
    }
    if tokens.is_empty() {
        let secret = options.hec_token.clone().unwrap_or_else(|| {
            let secret = uuid::Uuid::new_v4().to_string();
            made_up.push(format!("HEC token {secret}"));
            secret
        });
        tokens.put(HecToken::new("default", &secret, IndexName::new("main")?)).await?;
    }
    if !made_up.is_empty() {
        println!("first start: note these down, they are not shown again");
        made_up.iter().for_each(|line| println!("  {line}"));
    }
    Ok(())
}

/// Lets commands with the same data directory, run by whoever may read it, ask without logging in.
pub(crate) fn leave_local_session(options: &ServerOptions, karst: &Karst) -> Result<()> {
    let scheme = if options.management_plain { "http" } else { "https" };
    let certificate = options.data.data_dir.join("auth/server.pem");
    let session = LocalSession {
        uri: format!("{scheme}://{}", options.management_address),
        session_key: karst.state.accounts.local_session("admin"),
        certificate: (!options.management_plain)
            .then(|| options.tls_cert.clone().unwrap_or(certificate)),
    };
    let path = LocalSession::path(&options.data.data_dir);
    write_once(&path, &serde_json::to_vec(&session)?, 0o600)
}

/// The session ends with the server.
pub(crate) fn remove_local_session(options: &ServerOptions) {
    // If it is gone already, so much the better.
    let _ = fs::remove_file(LocalSession::path(&options.data.data_dir));
}
