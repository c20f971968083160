//! `GET /api/v1/settings`: the settings in force, each with its declaration and where its value comes from.
//!
//! Settings that are read at a start have the value of that start, whatever their file says by now. Of
//! stanzas that repeat (source types, inputs, indexes) a row is a value that is written, and one more shows
//! the default. A setting that can be changed over REST has the path for it. Secrets are never shown.

use axum::http::StatusCode;
use axum::response::Response;
use conf::{Effect, Effective, Entry, Layers, Reader, Setting, Type, Unit};
use serde_json::{Value, json};

use crate::call::Call;
use crate::declared::Declared;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    let what = "Effective settings, with type, default, description and source";
    Routes::default().at("/api/v1/settings", get(May("list_settings"), what, list))
}

/// The text in place of a secret.
const HIDDEN: &str = "********";
/// The setting that has a path of its own.
pub(super) const TIMEOUT: (&str, &str, &str) = ("server", "general", "sessionTimeout");
/// The path of [`TIMEOUT`].
pub(super) const TIMEOUT_PATH: &str = "/services/server/settings/settings";
/// The prefix of built-in files.
const BUILT_IN: &str = "system/default/";

/// The filter of the settings.
#[derive(Debug, Default)]
struct Wanted {
    /// Files without `.conf`; all if there are none.
    confs: Vec<String>,
    stanza: Option<String>,
    /// A part of the name, the stanza or the description, in lower case.
    text: Option<String>,
    /// Only settings that are set somewhere.
    set: bool,
}

impl Wanted {
    fn read(params: &Params, declared: &Declared) -> Result<Self, RestError> {
        let confs = params.list("conf");
        let known = declared.registry.confs();
        if let Some(unknown) = confs.iter().find(|conf| !known.contains(&conf.as_str())) {
            let known = known.join(", ");
            let text = format!("there are no settings of {unknown}.conf; the files are {known}");
            return Err(RestError::invalid(text));
        }
        Ok(Self {
            confs,
            stanza: params.text("stanza").map(str::to_owned),
            text: params.text("search").map(str::to_lowercase),
            set: params.flag("set"),
        })
    }

    fn takes(&self, row: &Row) -> bool {
        let of_stanza = |wanted: &String| {
            row.stanza.as_ref() == Some(wanted) || row.setting.stanza == wanted.as_str()
        };
        let has = |text: &String| {
            let stanza = row.stanza.as_deref().unwrap_or(row.setting.stanza);
            let all = [row.name.as_str(), stanza, row.setting.doc];
            all.iter().any(|part| part.to_lowercase().contains(text.as_str()))
        };
        // Hundreds of source types are built in: they are included only if the request names the file.
        let is_left_out = row.varies() && row.source == Source::BuiltIn && self.confs.is_empty();
        let is_set = row.is_stored || !matches!(row.source, Source::Default | Source::BuiltIn);
        self.stanza.as_ref().is_none_or(of_stanza)
            && self.text.as_ref().is_none_or(has)
            && !is_left_out
            && (is_set || !self.set)
    }
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The declaration.
    Default,
    /// A file that is part of the program.
    BuiltIn,
    File,
    /// The command line, or the environment.
    Flag,
    /// Something that was changed over REST and is kept.
    Rest,
}

impl Source {
    fn of(entry: &Entry) -> Self {
        match &*entry.place.file {
            file if file.starts_with(BUILT_IN) => Self::BuiltIn,
            file if file.ends_with(".conf") => Self::File,
            _ => Self::Rest,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::BuiltIn => "built_in",
            Self::File => "file",
            Self::Flag => "flag",
            Self::Rest => "rest",
        }
    }
}

/// A setting with its value.
#[derive(Debug, Clone)]
struct Row {
    setting: &'static Setting,
    /// The stanza of the value; `None` for the default of stanzas that repeat.
    stanza: Option<String>,
    /// Its name; of a family with the class.
    name: String,
    /// `None` where there is neither a value nor a default.
    value: Option<String>,
    source: Source,
    /// File and line, or the flag.
    place: Option<String>,
    /// The path to which a change is sent; `None` if REST cannot change it.
    change: Option<String>,
    /// Whether a value from REST is stored, which an empty value removes.
    is_stored: bool,
    /// The value of the next start if it differs; empty for none.
    pending: Option<String>,
}

impl Row {
    fn default(setting: &'static Setting) -> Self {
        Self {
            setting,
            stanza: (!varies(setting)).then(|| setting.stanza.to_owned()),
            name: setting.name.to_owned(),
            value: (!setting.default.is_empty()).then(|| setting.default.to_owned()),
            source: Source::Default,
            place: None,
            change: None,
            is_stored: false,
            pending: None,
        }
    }

    fn written(setting: &'static Setting, stanza: &str, entry: &Entry) -> Self {
        Self {
            setting,
            stanza: Some(stanza.to_owned()),
            name: entry.key.clone(),
            value: Some(entry.value.clone()),
            source: Source::of(entry),
            place: Some(entry.place.to_string()),
            ..Self::default(setting)
        }
    }

    fn varies(&self) -> bool {
        varies(self.setting)
    }

    fn json(&self) -> Value {
        let Setting { conf, stanza, kind, default, effect, .. } = *self.setting;
        let value = self.value.as_deref();
        let is_secret = matches!(kind, Type::Secret)
            || value.is_some_and(|value| {
                apps::redaction::shown(conf, &self.name, value, false) != value
            });
        let shown = if is_secret { value.map(|_| HIDDEN) } else { value };
        json!({
            "conf": conf,
            "stanza": self.stanza,
            "stanzas": stanza,
            "name": self.name,
            "value": shown,
            "default": (!default.is_empty()).then_some(default),
            "source": self.source.name(),
            "place": self.place,
            "type": type_json(kind),
            "description": self.setting.description(),
            "effect": match effect {
                Effect::Restart => "restart",
                Effect::Stored => "stored",
                Effect::Live => "live",
                Effect::Note => "note",
                Effect::None => "none",
            },
            "secret": is_secret,
            "change": self.change,
            "stored": self.is_stored,
            "pending": self.pending.as_deref().filter(|_| !is_secret),
        })
    }
}

/// Whether a setting is one of stanzas that repeat.
pub(super) fn varies(setting: &Setting) -> bool {
    setting.stanza.is_empty() || setting.stanza.contains(['<', ','])
}

fn type_json(kind: Type) -> Value {
    let expected = kind.expected();
    let bound = |bound: i64| (bound != i64::MIN && bound != i64::MAX).then_some(bound);
    let mut json = match kind {
        Type::Boolean => json!({"kind": "boolean"}),
        Type::Number { unit, least, most } => {
            json!({"kind": "number", "unit": unit_name(unit), "least": bound(least), "most": bound(most)})
        }
        Type::Decimal { least, most } => {
            json!({"kind": "decimal", "least": least, "most": most.is_finite().then_some(most)})
        }
        Type::Fraction => json!({"kind": "decimal", "least": 0, "most": 1}),
        Type::Size { least } => json!({"kind": "size", "least": least}),
        Type::Span { least } => json!({"kind": "span", "least": least}),
        Type::Choice(words) => json!({"kind": "choice", "choices": words}),
        Type::List { separator } => json!({"kind": "list", "separator": separator.to_string()}),
        Type::Regex => json!({"kind": "regex"}),
        Type::Text => json!({"kind": "text"}),
        Type::Secret => json!({"kind": "secret"}),
        Type::Form { .. } => json!({"kind": "form"}),
    };
    json["expected"] = json!(expected);
    json
}

fn unit_name(unit: Unit) -> Option<&'static str> {
    Some(match unit {
        Unit::One => return None,
        Unit::Percent => "percent",
        Unit::Bytes => "bytes",
        Unit::Megabytes => "megabytes",
        Unit::Milliseconds => "milliseconds",
        Unit::Seconds => "seconds",
        Unit::Minutes => "minutes",
        Unit::Days => "days",
    })
}

/// Returns the settings of a file: those with a stanza of their own and without immediate effect from the
/// layers of the start, the others from the current ones.
fn rows_of(declared: &Declared, conf: &str, start: &Layers, now: &Layers) -> Vec<Row> {
    let at_start = start.effective_of_server(conf);
    let (server, now) = (now.effective_of_server(conf), now.effective(conf));
    let mut rows = Vec::new();
    for setting in declared.registry.settings(conf) {
        let is_used = setting.effect != Effect::None;
        if varies(setting) {
            if is_used {
                rows.push(Row::default(setting));
            }
            rows.extend(written(declared, setting, &now));
        } else if let Some(family) = setting.name.strip_suffix('*') {
            let stanza = at_start.stanza(setting.stanza);
            let entries = stanza.into_iter().flat_map(|stanza| &stanza.entries);
            let own = entries.filter(|entry| entry.key.starts_with(family));
            rows.extend(own.map(|entry| Row::written(setting, setting.stanza, entry)));
        } else {
            rows.push(fixed(declared, setting, (&at_start, &server)));
        }
    }
    rows
}

/// Returns the row of a setting with a stanza of its own.
fn fixed(
    declared: &Declared,
    setting: &'static Setting,
    (at_start, now): (&Effective, &Effective),
) -> Row {
    let Setting { conf, stanza, name, effect, .. } = *setting;
    if let Some(flag) = declared.flag(conf, stanza, name) {
        return Row {
            value: Some(flag.value.clone()),
            source: Source::Flag,
            place: Some(flag.flag.to_owned()),
            ..Row::default(setting)
        };
    }
    let of = |file: &Effective| match Reader::new(file, stanza).entry(setting) {
        Some(entry) => Row::written(setting, stanza, entry),
        None => Row::default(setting),
    };
    let is_timeout = (conf, stanza, name) == TIMEOUT;
    let change = match effect {
        Effect::Live if is_timeout => TIMEOUT_PATH.to_owned(),
        Effect::Live | Effect::Stored => format!("/services/configs/conf-{conf}/{stanza}"),
        Effect::Restart | Effect::Note | Effect::None => return of(at_start),
    };
    let next = of(now);
    let is_stored = !is_timeout && next.source == Source::Rest;
    let row = match effect {
        Effect::Stored => of(declared.started(conf).unwrap_or(at_start)),
        _ => next.clone(),
    };
    let pending = (next.value != row.value).then(|| next.value.unwrap_or_default());
    Row { change: Some(change), is_stored, pending, ..row }
}

/// Returns the set values of a setting in stanzas that repeat.
fn written(declared: &Declared, setting: &'static Setting, conf: &Effective) -> Vec<Row> {
    let mut rows = Vec::new();
    for stanza in &conf.stanzas {
        let named =
            stanza.entries.iter().filter(|entry| setting.has_name(&stanza.name, &entry.key));
        for entry in named {
            // Several kinds of stanzas may have a setting of a name.
            let found = declared.registry.find(setting.conf, &stanza.name, &entry.key);
            if found.is_some_and(|found| std::ptr::eq(found, setting)) {
                rows.push(Row::written(setting, &stanza.name, entry));
            }
        }
    }
    rows
}

async fn list(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let declared = &state.declared;
    let wanted = Wanted::read(params, declared)?;
    let now = state.apps.knowledge();
    let (start, now) = (state.knowledge.layers(), now.layers());
    let mut rows = Vec::new();
    for conf in declared.registry.confs() {
        if wanted.confs.is_empty() || wanted.confs.iter().any(|one| one == conf) {
            rows.extend(rows_of(declared, conf, start, now));
        }
    }
    let is_timeout =
        |row: &&mut Row| (row.setting.conf, row.setting.stanza, row.setting.name) == TIMEOUT;
    for row in rows.iter_mut().filter(is_timeout) {
        change_timeout(row, &state.server_settings.session_timeout_text());
    }
    rows.retain(|row| wanted.takes(row));
    let total = rows.len();
    let offset = params.number("offset")?.unwrap_or(0);
    let count = params.count()?.filter(|count| *count > 0).unwrap_or(usize::MAX);
    let page: Vec<Value> = rows.iter().skip(offset).take(count).map(Row::json).collect();
    let body = json!({"total": total, "offset": offset, "settings": page});
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// The one setting of `server.conf` that REST changes and keeps.
fn change_timeout(row: &mut Row, in_force: &str) {
    if row.value.as_deref().and_then(conf::time_span) != conf::time_span(in_force) {
        row.value = Some(in_force.to_owned());
        row.source = Source::Rest;
        row.place = Some(TIMEOUT_PATH.to_owned());
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/api/v1/settings";
    let told = |query: &str, status: u16, part: &str| {
        case(&format!("GET {path}?{query}"), "", status, part)
    };
    vec![
        told("conf=limits&stanza=indexpreview", 200, "\"total\":2"),
        told("conf=limits&search=max_preview_bytes", 200, "\"value\":\"2000000\""),
        told("conf=inputs&set=1", 200, "\"stanza\":\"tcp-ssl://9999\""),
        told("conf=inputs&set=1&search=sslpassword", 200, "\"value\":\"********\""),
        told("conf=server&stanza=cachemanager&search=dram", 200, "\"source\":\"flag\""),
        told("count=1", 200, "\"settings\":[{"),
        told("conf=none", 400, "there are no settings of none.conf; the files are"),
        told("count=x", 400, "must be a whole number"),
        told("conf=limits", 200, "\"effect\":\"restart\""),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Registry};

    use super::*;

    const LIMITS: &[Setting] = &[
        Setting {
            stanza: "search",
            kind: Type::number(1),
            default: "10",
            doc: " Rows of a result.",
            effect: Effect::Restart,
            ..Setting::without_effect("limits", "max_rows")
        },
        Setting {
            stanza: "search",
            kind: Type::Secret,
            effect: Effect::Live,
            ..Setting::without_effect("limits", "salt")
        },
        Setting {
            stanza: "search",
            kind: Type::number(1),
            effect: Effect::Stored,
            ..Setting::without_effect("limits", "max_columns")
        },
    ];
    const INPUTS: &[Setting] = &[
        Setting {
            stanza: "tcp://<port>",
            default: "main",
            effect: Effect::Restart,
            ..Setting::without_effect("inputs", "index")
        },
        Setting {
            stanza: "udp://<port>",
            default: "net",
            effect: Effect::Restart,
            ..Setting::without_effect("inputs", "index")
        },
        Setting::without_effect("inputs", "queue"),
    ];

    fn declared(flags: Vec<crate::FlagSetting>) -> Declared {
        Declared { registry: Registry::new(&[&[LIMITS, INPUTS]]), flags, started: Vec::new() }
    }

    fn told(rows: &[Row]) -> Vec<String> {
        let one = |row: &Row| {
            let json = row.json();
            format!("[{}] {} = {} ({})", json["stanza"], row.name, json["value"], row.source.name())
        };
        rows.iter().map(one).collect()
    }

    #[test]
    fn a_value_comes_from_a_flag_a_file_or_the_declaration_and_secrets_are_hidden() {
        let layers = Layers::default().with(
            Layer::SystemLocal,
            "limits",
            "[search]\nmax_rows = 7\nsalt = grains",
        );
        let none = Layers::default();
        let of =
            |flags, layers: &Layers| told(&rows_of(&declared(flags), "limits", layers, layers));
        assert_eq!(
            of(Vec::new(), &layers),
            [
                "[\"search\"] max_rows = \"7\" (file)",
                "[\"search\"] salt = \"********\" (file)",
                "[\"search\"] max_columns = null (default)",
            ]
        );
        assert_eq!(
            of(Vec::new(), &none),
            [
                "[\"search\"] max_rows = \"10\" (default)",
                "[\"search\"] salt = null (default)",
                "[\"search\"] max_columns = null (default)",
            ]
        );
        let flag = crate::FlagSetting {
            conf: "limits",
            stanza: "search",
            name: "max_rows",
            value: "5".to_owned(),
            flag: "--max-rows",
        };
        assert_eq!(of(vec![flag], &layers)[0], "[\"search\"] max_rows = \"5\" (flag)");
    }

    #[test]
    fn a_value_from_rest_is_in_force_at_once_or_pending_until_the_next_start() {
        let conf = "[search]\nmax_rows = 7\nmax_columns = 8\nsalt = grains";
        let start = Layers::default().with(Layer::SystemLocal, "limits", conf);
        let conf = "[search]\nmax_columns = 9\nsalt = sand";
        let now = start.clone().with(Layer::SystemStored, "limits", conf);
        let of = |settings: Declared, now: &Layers| {
            let rows = rows_of(&settings, "limits", &start, now);
            let one = |row: &Row| {
                let (value, source, change) = (&row.value, row.source.name(), &row.change);
                assert_eq!(change.is_some(), row.setting.effect != Effect::Restart);
                format!("{value:?} {source} {} {:?}", row.is_stored, row.pending)
            };
            rows.iter().map(one).collect::<Vec<_>>()
        };
        let none = || declared(Vec::new());
        assert_eq!(
            of(none(), &now),
            [
                "Some(\"7\") file false None",
                "Some(\"sand\") rest true None",
                "Some(\"8\") file true Some(\"9\")"
            ]
        );
        // The next start.
        let started = none().started_with(&now);
        assert_eq!(of(started.clone(), &now)[2], "Some(\"9\") rest true None");
        assert_eq!(of(started, &start)[2], "Some(\"9\") rest false Some(\"8\")");
        // An earlier version stored it; it has no effect.
        let object = Layer::AppStored("search".to_owned());
        let objects = start.clone().with(object, "limits", "[search]\nsalt = sea");
        assert_eq!(of(none(), &objects)[1], "Some(\"grains\") file false None");
        let flag = crate::FlagSetting {
            conf: "limits",
            stanza: "search",
            name: "max_columns",
            value: "5".to_owned(),
            flag: "--max-columns",
        };
        let rows = rows_of(&declared(vec![flag]), "limits", &start, &now);
        assert_eq!((rows[2].source, rows[2].change.as_deref()), (Source::Flag, None));
    }

    #[test]
    fn stanzas_that_repeat_have_a_row_for_each_value_and_one_for_the_default() {
        let layers = Layers::default().with(
            Layer::SystemLocal,
            "inputs",
            "[udp://514]\nindex = sys\nqueue = x\n[tcp://1]\nindex = web",
        );
        let rows = rows_of(&declared(Vec::new()), "inputs", &Layers::default(), &layers);
        assert_eq!(
            told(&rows),
            [
                "[null] index = \"main\" (default)",
                "[\"tcp://1\"] index = \"web\" (file)",
                "[null] index = \"net\" (default)",
                "[\"udp://514\"] index = \"sys\" (file)",
                "[\"udp://514\"] queue = \"x\" (file)",
            ]
        );
        let wanted = Wanted { set: true, text: Some("udp".to_owned()), ..Wanted::default() };
        let found: Vec<_> = rows.iter().filter(|row| wanted.takes(row)).collect();
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn types_say_their_bounds_and_what_is_expected() {
        let size = type_json(Type::of(Unit::Seconds, 1, i64::MAX));
        assert_eq!(
            size,
            json!({"kind": "number", "unit": "seconds", "least": 1, "most": null,
                "expected": "a whole number of seconds, 1 or more"})
        );
        let choice = type_json(Type::Choice(&["a", "b"]));
        assert_eq!(choice["choices"], json!(["a", "b"]));
    }
}
