//! `karst app`: installs apps and add-ons, in a running server or in a directory of configuration, with a
//! report of which parts are used; lists, removes and exports them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use apps::{Install, Package, SearchCheck};
use conf::Layers;
use knowledge::Knowledge;
use reqwest::{Method, header};
use serde::Deserialize;
use serde_json::Value;

use super::app_check;
use super::bundle::{self, Sent};
use super::client::{Client, Failure};
use super::plural::counted;
use super::printable::printable;
use super::table::{Rows, print_listing};
use crate::app_searches;
use crate::config::{
    AppExportOptions, AppInstallOptions, AppOptions, AppRemoveOptions, AppWhat, ListingOptions,
};
use crate::mistakes::{self, Mistake, Weight};

const PATH: &str = "/services/apps/local";
/// Where an update with the changed files of an app is sent.
const CHANGES: &str = "/services/apps/upload/changes?output_mode=json&update=1";
/// Time-out of an installation: the app is copied to object storage first.
const INSTALL: Duration = Duration::from_secs(600);
/// The command that lists the mistakes in an app, before the name of the app.
const CHECK: &str = "karst btool check --app";
/// The first words of remarks about settings, which are counted in stanzas.
const SETTING: [&str; 2] = ["setting ", "unknown setting "];
/// The columns of `karst app list`.
const FIELDS: [&str; 5] = ["label", "version", "disabled", "installed", "author"];

pub(crate) async fn app(options: AppOptions) -> Result<ExitCode> {
    match options.what {
        AppWhat::Check(options) => return app_check::check(&options),
        AppWhat::Install(options) => match options.conf_dir.clone() {
            Some(to) => copy(options, &to)?,
            None => install(options).await?,
        },
        AppWhat::List(options) => list(options).await?,
        AppWhat::Remove(options) => remove(options).await?,
        AppWhat::Export(options) => export(options).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The parts of an app that are used.
#[derive(Debug, Deserialize)]
struct Report {
    files: usize,
    used: Vec<(String, usize)>,
    ignored: Vec<String>,
    /// Settings that are in force but unusual; servers of version 0.1 do not send them.
    #[serde(default)]
    notes: Vec<String>,
    not_used: Vec<Remark>,
    gains: Vec<Remark>,
    /// Which of its searches can run; servers of version 0.1 do not send it.
    #[serde(default)]
    searches: SearchCheck,
    /// Whether the app is disabled; servers of version 0.1 do not send it.
    #[serde(default)]
    disabled: bool,
}

#[derive(Debug, Deserialize)]
struct Remark {
    place: String,
    text: String,
}

/// Copies an app into a directory of configuration.
fn copy(options: AppInstallOptions, to: &Path) -> Result<()> {
    let install = Install { from: options.from, to: to.to_owned(), update: options.update };
    let report = apps::install(&install, &crate::settings::registry());
    let report = report.map_err(|error| match error {
        apps::Error::Exists(_) => anyhow::Error::from(error)
            .context("the app was not installed; --update replaces the app of this name"),
        error => anyhow::Error::from(error).context("the app was not installed"),
    })?;
    let folder = format!("{}/", to.join("apps").display());
    let (mut ignored, mut notes) = (Vec::new(), Vec::new());
    for mistake in mistakes_in(to, &report.app)? {
        // Consistent with the other lines of the report: paths begin at the app.
        let text = mistake.text.replace(&folder, "");
        match mistake.weight {
            Weight::Note => notes.push(text),
            Weight::Error | Weight::Ignored => ignored.push(text),
        }
    }
    let remark = |place, text| Remark { place, text };
    let remarks = report.remarks.into_iter().map(|one| remark(one.place, one.text));
    let gains = report.gains.into_iter().map(|one| remark(one.what.to_owned(), one.text));
    let disabled =
        Layers::read_app(to, &report.app)?.without_disabled().disabled().contains(&report.app);
    let searches = match disabled {
        true => SearchCheck::default(),
        false => searches_in(to, &report.app)?,
    };
    let found = Report {
        files: report.files,
        used: report.used,
        ignored,
        notes,
        not_used: remarks.collect(),
        gains: gains.collect(),
        searches,
        disabled,
    };
    let place = to.join("apps").join(&report.app);
    let check = format!("`{CHECK} {} --conf-dir {}`", report.app, to.display());
    print(&report.app, (&place.display().to_string(), &check), &found)?;
    println!("`karst reload apps`, or the next start of the server, reads it");
    Ok(())
}

/// Installs an app in a running server.
async fn install(options: AppInstallOptions) -> Result<()> {
    let package = Package::read(&options.from).context("the app was not installed")?;
    let client = Client::with_timeout(&options.client, INSTALL)?;
    let sent = send(&client, &package, options.update).await;
    let (entry, sent) = sent.map_err(|error| match error.downcast_ref() {
        Some(Failure::Unreachable(text)) => anyhow::Error::from(Failure::Unreachable(format!(
            "{text}; without a running server, --conf-dir DIR installs into its directory of configuration"
        ))),
        _ => error.context("the app was not installed"),
    })?;
    let mut report: Report = serde_json::from_value(entry["content"].clone())
        .context("the server sent a report that this version of karst cannot read")?;
    // These files were not sent.
    let left_out = package.left_out().map(|one| Remark { place: one.place, text: one.text });
    report.not_used.extend(left_out);
    let app = entry["name"].as_str().unwrap_or_default();
    let check = format!("`{CHECK} {app}` with the --data-dir of the server, on its machine");
    print(app, ("object storage", &check), &report)?;
    if let Some(sent) = sent {
        println!("{}", bundle::shown(&sent));
    }
    if !report.disabled {
        println!("the app is in effect; in a cluster, the other processes follow within seconds");
    }
    Ok(())
}

/// Sends an app; in an update, only the files that the version in effect does not have. Returns the answer,
/// and what was sent if it was not the whole app.
async fn send(client: &Client, package: &Package, update: bool) -> Result<(Value, Option<Sent>)> {
    if update && let Some(changed) = send_changes(client, package).await? {
        let (entry, sent) = changed;
        return Ok((entry, Some(sent)));
    }
    let body = package.pack().context("cannot pack the app")?;
    let update = if update { "&update=1" } else { "" };
    let path = format!("/services/apps/upload?output_mode=json{update}");
    let request = client.request(Method::POST, &path).body(body);
    let request = request.header(header::CONTENT_TYPE, "application/gzip");
    let mut answer = client.send(request).await?;
    Ok((answer["entry"][0].take(), None))
}

/// Sends the changed files of an app; `None` if the whole app has to be sent: no version is in effect, the
/// user may not list its files, the server is of an earlier version, or it cannot read the other files.
async fn send_changes(client: &Client, package: &Package) -> Result<Option<(Value, Sent)>> {
    let files = match client.get(bundle::FILES).await {
        Ok(files) => files,
        // This keeps the server from taking the app, too.
        Err(error)
            if matches!(
                error.downcast_ref(),
                Some(Failure::Unreachable(_) | Failure::Unauthorized(_))
            ) =>
        {
            return Err(error);
        }
        // The update may be the repair of a version whose files cannot be listed.
        Err(_) => return Ok(None),
    };
    if !takes_changes(&files, &package.app) {
        return Ok(None);
    }
    let packages = std::slice::from_ref(package);
    match bundle::send(client, CHANGES, packages, &bundle::there(&files)).await {
        Ok(sent) => Ok(Some(sent)),
        // Behind the same address, another process has answered, of an earlier version; or a file of the
        // version in effect is lost, which the whole app replaces.
        Err(error)
            if matches!(
                error.downcast_ref(),
                Some(Failure::Missing(_) | Failure::Server(_) | Failure::Later(_))
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether a server installs the changed files of an app, of which it has a version.
fn takes_changes(files: &Value, app: &str) -> bool {
    let mut entries = files["entry"].as_array().into_iter().flatten();
    let entry = entries.find(|entry| entry["name"] == app);
    entry.is_some_and(|entry| entry["content"]["takes_changes"] == true)
}

async fn list(options: ListingOptions) -> Result<()> {
    let client = Client::new(&options.client)?;
    let feed = client.get(&format!("{PATH}?output_mode=json&count=0")).await?;
    let fields = std::iter::once("name").chain(FIELDS).map(str::to_owned).collect();
    let row = |entry: &Value| {
        let cells = FIELDS.iter().map(|field| entry["content"][field].clone());
        std::iter::once(entry["name"].clone()).chain(cells).collect()
    };
    let rows = feed["entry"].as_array().into_iter().flatten().map(row).collect();
    print_listing(&Rows { fields, rows }, options.format.output)
}

async fn remove(options: AppRemoveOptions) -> Result<()> {
    let client = Client::new(&options.client)?;
    let path = format!("{}?output_mode=json", path_of(&options.name));
    client.send(client.request(Method::DELETE, &path)).await?;
    println!("the app {} is removed", options.name);
    Ok(())
}

/// The path of an app.
fn path_of(name: &str) -> String {
    let name = form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>();
    format!("{PATH}/{}", name.replace('+', "%20"))
}

/// Requests of one export: the app may change between the report and the file.
const ATTEMPTS: usize = 3;

/// The report of the server about a package.
#[derive(Debug, Deserialize)]
struct Packed {
    /// The address of the package that the report is about.
    url: String,
    left_out: Vec<Remark>,
}

/// Writes an app to a file, and reports the parts that are left out.
async fn export(options: AppExportOptions) -> Result<()> {
    let to = options.output.clone().unwrap_or_else(|| format!("{}.spl", options.name).into());
    check_absent(&to, options.force)?;
    let client = Client::with_timeout(&options.client, INSTALL)?;
    let path = format!("{}/package?output_mode=json", path_of(&options.name));
    let mut attempt = 1;
    let (report, packed) = loop {
        match packed(&client, &path).await {
            Err(error) if attempt < ATTEMPTS && is_later(&error) => attempt += 1,
            both => break both?,
        }
    };
    save(&to, &packed, options.force).with_context(|| format!("cannot write {}", to.display()))?;
    let mut text = format!("{} has the app {}\n", to.display(), options.name);
    for Remark { place, text: reason } in &report.left_out {
        text.push_str(&format!("  left out  {}/{place}: {reason}\n", options.name));
    }
    text.push_str(
        "Secrets are recognized by names and forms of settings: look through the file before others get it\n",
    );
    std::io::stdout().lock().write_all(printable(&text).as_bytes())?;
    Ok(())
}

/// Returns the report about a package, and the package.
async fn packed(client: &Client, path: &str) -> Result<(Packed, Vec<u8>)> {
    let mut answer = client.get(path).await?;
    let report: Packed = serde_json::from_value(answer["entry"][0]["content"].take())
        .context("the server sent a report that this version of karst cannot read")?;
    let bytes = client.file(&report.url).await?;
    Ok((report, bytes))
}

/// Whether another request may succeed: the app has changed since the report, or others are exported.
fn is_later(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Failure::Later(_)))
}

/// Refuses to replace a file, which may be the package of the app's vendor.
fn check_absent(to: &Path, force: bool) -> Result<()> {
    if !force && is_file(to) {
        bail!("{} exists: --force replaces it, -o FILE writes another one", to.display());
    }
    Ok(())
}

/// Whether it is a file, and not a device such as /dev/stdout.
fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn save(to: &Path, bytes: &[u8], force: bool) -> std::io::Result<()> {
    // Another program may have made the file meanwhile.
    let mut file = match force || (to.exists() && !is_file(to)) {
        true => File::create(to)?,
        false => File::create_new(to)?,
    };
    file.write_all(bytes)
}

/// Prints the report. `place` is the directory of the files; `check` is the command that lists the mistakes.
fn print(app: &str, (place, check): (&str, &str), report: &Report) -> Result<()> {
    let text = shown(app, (place, check), report)?;
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the report as text for a terminal.
fn shown(app: &str, (place, check): (&str, &str), report: &Report) -> Result<String> {
    let mut out = Vec::new();
    writeln!(out, "{app}: {} in {place}", counted(report.files, "file"))?;
    for (conf, stanzas) in &report.used {
        writeln!(out, "  used      {conf}.conf: {}", counted(*stanzas, "stanza"))?;
    }
    for text in &report.ignored {
        writeln!(out, "  ignored   {text}")?;
    }
    for text in &report.notes {
        writeln!(out, "  note      {text}")?;
    }
    for (text, places) in by_weight(&report.not_used) {
        let others = match places.len() {
            1 => String::new(),
            several if SETTING.iter().any(|begins| text.starts_with(begins)) => {
                format!(" ({several} stanzas, here first)")
            }
            several => format!(" ({several} times, here first)"),
        };
        writeln!(out, "  not used  {app}/{}: {text}{others}", places[0])?;
    }
    for line in app_searches::lines(&format!("{app}/"), &report.searches) {
        writeln!(out, "  {line}")?;
    }
    sums(&mut out, check, report)?;
    if report.disabled {
        writeln!(
            out,
            "the app is disabled ([install] of app.conf), so that nothing of it has an effect, except \
             its indexes; `POST {PATH}/{app}/enable` enables it"
        )?;
    }
    Ok(printable(&String::from_utf8_lossy(&out)))
}

/// Prints the number of definitions of the app, and of the settings that are ignored.
fn sums(out: &mut impl Write, check: &str, report: &Report) -> Result<()> {
    writeln!(out, "summary")?;
    let mut line = |what: &str, text: &str| writeln!(out, "  {what:<16}{text}");
    for gain in &report.gains {
        line(&gain.place, &gain.text)?;
    }
    if let Some(text) = app_searches::summary(&report.searches) {
        line("searches", &text)?;
    }
    let is_setting = |remark: &&Remark| remark.place.contains(".conf:");
    let settings = report.not_used.iter().filter(is_setting).count();
    let in_views = report.not_used.iter().filter(|one| one.place.contains(".xml:")).count();
    let rest = report.not_used.len() - settings - in_views;
    let ignored = report.ignored.len();
    if ignored > 0 {
        let cause = if ignored == 1 { "because it is wrong" } else { "because they are wrong" };
        line("ignored", &format!("{ignored}, {cause}: {check}"))?;
    }
    if settings + rest > 0 {
        let text = format!("{}, {}", counted(settings, "setting"), counted(rest, "file"));
        line("not used", &text)?;
    }
    Ok(())
}

/// Groups remarks with the same text, the most frequent first.
fn by_weight(remarks: &[Remark]) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for remark in remarks {
        let at = *known.entry(&remark.text).or_insert(all.len());
        if at == all.len() {
            all.push((&remark.text, Vec::new()));
        }
        all[at].1.push(&remark.place);
    }
    all.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    all
}

/// Returns the mistakes in an app, of which the server and its searches are independent. Other apps are not
/// read, except for the names of stanzas that the app mentions and does not have: so the time of an
/// installation does not depend on the number of apps.
fn mistakes_in(directory: &Path, app: &str) -> Result<Vec<Mistake>> {
    let mut layers = Layers::read_app(directory, app)?;
    let tolerated = crate::settings::registry().tolerate_apps(&mut layers);
    let mut found = mistakes::ignored(&Knowledge::new(layers), &tolerated);
    found.retain(|mistake| mistake.app.as_deref() == Some(app));
    let mut names: HashMap<&'static str, HashSet<String>> = HashMap::new();
    for conf in found.iter().filter_map(|mistake| Some(mistake.missing.as_ref()?.0)) {
        if !names.contains_key(conf) {
            names.insert(conf, Layers::stanza_names(directory, conf)?);
        }
    }
    let is_elsewhere = |(conf, name): &(&'static str, String)| {
        names.get(conf).is_some_and(|names| names.contains(name))
    };
    found.retain(|mistake| !mistake.missing.as_ref().is_some_and(is_elsewhere));
    Ok(found)
}

/// Checks the searches of an app. Other apps are read only if something is missing: so the time of an
/// installation usually does not depend on the number of apps.
fn searches_in(directory: &Path, app: &str) -> Result<SearchCheck> {
    let searches = app_searches::in_directory(&directory.join("apps").join(app))?;
    let alone = app_searches::check_in(&Layers::read_app(directory, app)?, app, &searches);
    match alone.missing.is_empty() {
        true => Ok(alone),
        false => Ok(app_searches::check_in(&Layers::read(directory)?, app, &searches)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_sent_to_servers_that_say_that_they_take_them() {
        let of = |content: Value| json!({ "entry": [{ "name": "ta", "content": content }] });
        assert!(takes_changes(&of(json!({ "files": [], "takes_changes": true })), "ta"));
        assert!(!takes_changes(&of(json!({ "files": [], "takes_changes": true })), "other"));
        assert!(
            !takes_changes(&of(json!({ "files": [] })), "ta"),
            "a server of an earlier version"
        );
        assert!(!takes_changes(&Value::Null, "ta"));
    }

    #[test]
    fn a_report_quotes_files_without_control_characters() {
        let place = "default/props.conf:2".to_owned();
        let text = "expected \"key = value\", ignored: a\u{1b}[31m".to_owned();
        let report = Report {
            files: 1,
            used: vec![("props".to_owned(), 1)],
            ignored: vec!["default/props.conf:3: [a] x = \u{7}".to_owned()],
            notes: Vec::new(),
            not_used: vec![Remark { place, text }],
            gains: Vec::new(),
            searches: SearchCheck::default(),
            disabled: true,
        };
        let text = shown("ta", ("etc/apps/ta", CHECK), &report).unwrap();
        assert!(text.contains("not used  ta/default/props.conf:2: expected"), "{text}");
        assert!(
            text.contains("ignored: a\u{fffd}[31m\n") && text.contains("x = \u{fffd}\n"),
            "{text}"
        );
        let disabled = "the app is disabled ([install] of app.conf), so that nothing";
        assert!(text.contains(disabled), "{text}");
        assert!(text.starts_with("ta: 1 file in etc/apps/ta\n  used      props.conf"), "{text}");
    }
}
