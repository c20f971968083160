//! `karst user`: lists, adds, locks and removes users; sets passwords, also without a running
//! server.
//!
//! A running server is called over REST, with its local session. Without one, `password` opens the
//! catalog itself, under the lock of the data directory: anyone who may write there can set any
//! password, as with any password file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use access::password_policy::PasswordPolicy;
use access::{Accounts, AuthenticationSettings, Console, UserChange};
use anyhow::{Context, Result, bail, ensure};
use catalog::Catalog;
use conf::Layers;
use reqwest::Method;
use runtime::{Clock, SystemClock};

use super::client::{Client, Failure, LocalSession};
use super::table::{Rows, print_listing};
use crate::config::{
    AddUserOptions, ClientOptions, Output, PasswordOptions, UserOptions, UserWhat,
};

const PATH: &str = "/services/authentication/users";

pub(crate) async fn user(options: UserOptions) -> Result<ExitCode> {
    match options.what {
        UserWhat::Password(options) => set_password(options).await?,
        UserWhat::List(options) => {
            list(&Client::new(&options.client)?, options.format.output).await?
        }
        UserWhat::Add(options) => add(options).await?,
        UserWhat::Unlock(options) => {
            change(&options.client, &options.name, &[("locked-out", "false")]).await?;
            println!("user {} may log in again", options.name);
        }
        UserWhat::Lock(options) => {
            change(&options.client, &options.name, &[("locked-out", "true")]).await?;
            println!("user {} is locked, and the user's sessions are closed", options.name);
        }
        UserWhat::Remove(options) => {
            let client = Client::new(&options.client)?;
            let path = format!("{PATH}/{}?output_mode=json", encoded(&options.name));
            client.send(client.request(Method::DELETE, &path)).await?;
            println!("user {} is removed", options.name);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Encodes a name for a URL path.
fn encoded(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

async fn change(options: &ClientOptions, name: &str, form: &[(&str, &str)]) -> Result<()> {
    let client = Client::new(options)?;
    let path = format!("{PATH}/{}?output_mode=json", encoded(name));
    client.post(&path, form).await.map(drop)
}

async fn list(client: &Client, output: Option<Output>) -> Result<()> {
    let feed = client.get(&format!("{PATH}?output_mode=json&count=0")).await?;
    let fields = ["name", "roles", "real name", "origin", "locked", "must change password"];
    let mut rows = Rows::default();
    rows.fields.extend(fields.map(str::to_owned));
    for entry in feed["entry"].as_array().into_iter().flatten() {
        let content = &entry["content"];
        let roles: Vec<&str> =
            content["roles"].as_array().into_iter().flatten().filter_map(|r| r.as_str()).collect();
        rows.rows.push(vec![
            entry["name"].clone(),
            roles.join(" ").into(),
            content["realname"].clone(),
            origin(&content["type"]),
            content["locked-out"].clone(),
            content["force-change-pass"].clone(),
        ]);
    }
    print_listing(&rows, output)
}

/// Returns the origin of a user. `Splunk` is Splunk's name for users of the server itself.
fn origin(kind: &serde_json::Value) -> serde_json::Value {
    match kind.as_str() {
        Some("Splunk") => "local".into(),
        _ => kind.clone(),
    }
}

async fn add(options: AddUserOptions) -> Result<()> {
    let client = Client::new(&options.client)?;
    let password = new_password(options.generate)?;
    let must_change = options.must_change.to_string();
    let mut form: Vec<(&str, &str)> = vec![
        ("output_mode", "json"),
        ("name", &options.name),
        ("password", &password),
        ("force-change-pass", &must_change),
    ];
    form.extend(options.roles.iter().map(|role| ("roles", role.as_str())));
    client.post(PATH, &form).await?;
    println!("user {} is added", options.name);
    print_made_up(options.generate, &password);
    Ok(())
}

fn print_made_up(generated: bool, password: &str) {
    if generated {
        println!("password {password}");
    }
}

/// Generated, prompted for twice, or the first line of standard input.
fn new_password(generate: bool) -> Result<String> {
    if generate {
        // The server checks the policy; this meets any likely one.
        let (length, each) = (24, 3);
        let policy = PasswordPolicy {
            length,
            uppercase: each,
            lowercase: each,
            digits: each,
            special: each,
            ..PasswordPolicy::default()
        };
        return Ok(policy.made_up());
    }
    let password = if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("New password: ")?;
        ensure!(first == rpassword::prompt_password("Again: ")?, "the passwords differ");
        first
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("cannot read standard input")?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    ensure!(
        !password.is_empty(),
        "no password given: type it, send it to standard input, or --generate"
    );
    Ok(password)
}

async fn set_password(options: PasswordOptions) -> Result<()> {
    let password = new_password(options.generate)?;
    let must_change = options.must_change;
    let asked = match runs(&options.store.client) {
        true => ask_server(&options, &password).await,
        false => Err(Failure::Unreachable("no server runs".to_owned()).into()),
    };
    let how = match asked {
        Ok(()) => "",
        Err(error) if may_do_without(&options.store.client, &error) => {
            set_in_catalog(&options, &password, must_change).await?;
            "; no server is running, it takes effect at the next start"
        }
        Err(error) => return Err(error),
    };
    println!("the password of user {} is set{how}", options.name);
    print_made_up(options.generate, &password);
    Ok(())
}

/// Whether a server is running.
fn runs(client: &ClientOptions) -> bool {
    let explicit = client.uri.is_some() || client.auth.is_some();
    explicit || LocalSession::path(&client.data.data_dir).exists()
}

/// Whether to open the catalog directly if no server responds: not if a server was given
/// explicitly.
fn may_do_without(client: &ClientOptions, error: &anyhow::Error) -> bool {
    let unreachable = matches!(error.downcast_ref::<Failure>(), Some(Failure::Unreachable(_)));
    unreachable && client.uri.is_none()
}

async fn ask_server(options: &PasswordOptions, password: &str) -> Result<()> {
    let must_change = options.must_change.to_string();
    let form = [
        ("password", password),
        ("force-change-pass", must_change.as_str()),
        ("locked-out", "false"),
    ];
    change(&options.store.client, &options.name, &form).await
}

async fn set_in_catalog(
    options: &PasswordOptions,
    password: &str,
    must_change: bool,
) -> Result<()> {
    let data = &options.store.client.data.data_dir;
    ensure!(
        data.is_dir(),
        "{} is not a data directory of a server: give --data-dir",
        data.display()
    );
    let lock = lock(data)?;
    let layers = match &options.store.conf_dir {
        Some(directory) => Layers::read(directory)?.without_disabled(),
        None => Layers::builtin(),
    };
    let objects = data.join("objects");
    let url = options.store.object_store.clone().unwrap_or_else(|| objects.display().to_string());
    ensure!(
        options.store.object_store.is_some() || objects.is_dir(),
        "there is no catalog in {}: give --object-store as to the server",
        objects.display()
    );
    let store = runtime::store::open(&url, &crate::server::store_options(&layers)?)?.store;
    let lease = crate::server::claim_catalog(&store, data, &lock).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = catalog::Settings::default();
    let catalog = Catalog::open(store, crate::server::CATALOG, settings, Arc::clone(&clock)).await;
    let catalog = catalog.context("cannot open the catalog")?;
    let done = change_in(&catalog, &layers, clock, options, password, must_change).await;
    catalog.close().await.context("cannot close the catalog")?;
    lease.release().await;
    done
}

async fn change_in(
    catalog: &Catalog,
    layers: &Layers,
    clock: Arc<dyn Clock>,
    options: &PasswordOptions,
    password: &str,
    must_change: bool,
) -> Result<()> {
    // No redirects of browsers are created here.
    let console = Console { host: "localhost".to_owned(), port: 0, tls: true };
    let settings = AuthenticationSettings::read(layers, &console)?;
    let mut accounts = Accounts::load(catalog.clone(), settings, clock).await?;
    // The user's sessions, which the server would restore at its start, end when the password changes.
    accounts.keep_sessions();
    let change = UserChange {
        password: Some(password.to_owned()),
        must_change: Some(must_change),
        locked: Some(false),
        ..UserChange::default()
    };
    if !accounts.change(&options.name, change, None).await? {
        let names: Vec<String> = accounts.all().into_iter().map(|user| user.name).collect();
        bail!("there is no user \"{}\"; there are: {}", options.name, names.join(", "));
    }
    Ok(())
}

/// Takes the lock that a running server holds.
fn lock(data: &Path) -> Result<File> {
    let path = data.join("server.lock");
    let mut opening = OpenOptions::new();
    let file = opening.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "a server is running on {} and does not answer: stop it, or wait until it does",
            data.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}
