//! `/services/data/props/{extractions,fieldaliases,calcfields,lookups,sourcetype-rename}`: single settings of
//! `props.conf`.
//!
//! An entry is one setting of one stanza, named `stanza : ATTRIBUTE-class`. A setting of files that is
//! removed stays in its stanza without a value, which switches off what the files say; a stanza that holds
//! nothing more is removed with the setting.

use apps::{ConfObject, Error as AppsError, NOBODY, Namespace, Sharing};
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::access::{check_shared_writable, check_writable, may_read};
use super::objects::{Asked, CONFS, acl_of, check_app, home, objects};
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::{Attributes, Entry, segment};
use crate::call::Call;
use crate::error::RestError;
use crate::params::{Params, is_true};
use crate::rights::EDIT;
use crate::rights::Need::{Object, Session};
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const CONF: &str = "props";
const PATH: &str = "/services/data/props";

pub(super) fn routes() -> Routes {
    let (see, edit) = (Some(Object), Some(EDIT));
    let access =
        Access { list: see, create: edit, show: see, edit, remove: edit, ..Access::default() };
    Routes::default().at(PATH, get(Session, "Lists the kinds of settings below", kinds)).resource(
        "/services/data/props/{kind}",
        &PropsSettings,
        &access,
    )
}

/// Settings of one sort.
struct Kind {
    path: &'static str,
    /// The prefixes of the settings; a new one gets the first unless `type` selects another.
    prefixes: &'static [&'static str],
    optional: &'static [&'static str],
    wildcard: &'static [&'static str],
}

const KINDS: [Kind; 5] = [
    Kind {
        path: "extractions",
        prefixes: &["EXTRACT-", "REPORT-"],
        optional: &["type", "value"],
        wildcard: &[],
    },
    Kind {
        path: "fieldaliases",
        prefixes: &["FIELDALIAS-"],
        optional: &["overwrite", "value"],
        wildcard: &["alias\\..*"],
    },
    Kind { path: "calcfields", prefixes: &["EVAL-"], optional: &["value"], wildcard: &[] },
    Kind {
        path: "lookups",
        prefixes: &["LOOKUP-"],
        optional: &["overwrite", "transform", "value"],
        wildcard: &["lookup\\.field\\.input\\..*", "lookup\\.field\\.output\\..*"],
    },
    // A setting without a class.
    Kind { path: "sourcetype-rename", prefixes: &["rename"], optional: &["value"], wildcard: &[] },
];

fn kind(call: &Call) -> Result<&'static Kind, RestError> {
    let path = call.segment("kind");
    KINDS.iter().find(|kind| kind.path == path).ok_or_else(|| RestError::no_object(path))
}

fn asked(call: &Call) -> Result<Asked<'_>, RestError> {
    Asked::new(&CONFS, CONF, call)
}

impl Kind {
    fn has(&self, key: &str) -> bool {
        self.prefixes.iter().any(|prefix| match prefix.ends_with('-') {
            true => key.starts_with(prefix),
            false => key == *prefix,
        })
    }

    fn entry(&self, asked: &Asked<'_>, object: &ConfObject, key: &str, value: &str) -> Entry {
        let kind = if key.starts_with("REPORT-") { "Uses transform" } else { "Inline" };
        let mut content = feed::content(json!({
            "attribute": key, "stanza": object.name, "type": kind, "value": value,
            "eai:appName": object.app, "eai:userName": object.owner,
        }));
        for (from, to) in pairs(self, value) {
            content.insert(format!("alias.{from}"), json!(to));
        }
        let there = home(object);
        let (owner, app) = (segment(&there.owner), segment(&there.app));
        let path = format!("/servicesNS/{owner}/{app}/data/props/{}", self.path);
        let attributes = Attributes::new(&[], self.optional, self.wildcard);
        let entry = Entry::new(&path, &format!("{} : {key}", object.name), content);
        entry.with_acl(acl_of(asked, object)).with_attributes(attributes).editable()
    }

    /// Returns the value of a request: as in the file, or composed of its parts.
    fn value(&self, params: &Params) -> Result<String, RestError> {
        if let Some(value) = params.text("value") {
            return Ok(value.to_owned());
        }
        let word = |overwriting: &'static str, other: &'static str| match params.get("overwrite") {
            Some(overwrite) if !is_true(overwrite) => other,
            _ => overwriting,
        };
        let fields = |prefix: &'static str, word: &str| -> Vec<String> {
            let named = params.iter().filter_map(|(key, to)| Some((key.strip_prefix(prefix)?, to)));
            let same = |from: &str, to: &str| to.is_empty() || from == to;
            let one = |(from, to): (&str, &str)| match same(from, to) {
                true => from.to_owned(),
                false => format!("{from} {word} {to}"),
            };
            named.map(one).collect()
        };
        let text = match self.path {
            "fieldaliases" => fields("alias.", word("AS", "ASNEW")).join(" "),
            "lookups" => {
                let transform = params.required("transform")?;
                let inputs = fields("lookup.field.input.", "AS").join(" ");
                let outputs = fields("lookup.field.output.", "AS").join(" ");
                match outputs.is_empty() {
                    true => format!("{transform} {inputs}"),
                    false => {
                        let output = word("OUTPUT", "OUTPUTNEW");
                        format!("{transform} {inputs} {output} {outputs}")
                    }
                }
            }
            _ => String::new(),
        };
        if text.trim().is_empty() {
            Err(RestError::invalid("a value is missing"))
        } else {
            Ok(text)
        }
    }

    /// Refuses the expression of a calculated field that no search could compute.
    fn check(&self, state: &ApiState, value: &str) -> Result<(), RestError> {
        if self.path != "calcfields" {
            return Ok(());
        }
        state.search.check_calculated_field(value).map_err(|error| {
            RestError::invalid(format!("the expression of a calculated field is invalid: {error}"))
        })
    }

    /// The key of a new setting.
    fn key(&self, class: &str, params: &Params) -> Result<String, RestError> {
        let wanted = params.text("type").map(|kind| format!("{}-", kind.to_ascii_uppercase()));
        let prefix = match &wanted {
            None => self.prefixes.first(),
            Some(wanted) => self.prefixes.iter().find(|prefix| *prefix == wanted),
        };
        let prefix = prefix.ok_or_else(|| {
            let kinds: Vec<&str> = self.prefixes.iter().map(|p| p.trim_end_matches('-')).collect();
            RestError::invalid(format!("type must be one of {}", kinds.join(", ")))
        })?;
        Ok(if prefix.ends_with('-') { format!("{prefix}{class}") } else { (*prefix).to_owned() })
    }
}

/// The fields of an alias with their other names; none of other settings.
fn pairs(kind: &Kind, value: &str) -> Vec<(String, String)> {
    if kind.path != "fieldaliases" {
        return Vec::new();
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    let named = words.windows(3).filter(|three| {
        three[1].eq_ignore_ascii_case("as") || three[1].eq_ignore_ascii_case("asnew")
    });
    named.map(|three| (three[0].to_owned(), three[2].to_owned())).collect()
}

/// A setting that is there.
struct Found {
    object: ConfObject,
    key: String,
    value: String,
}

impl Found {
    fn name(&self) -> String {
        format!("{} : {}", self.object.name, self.key)
    }

    /// Returns the setting as an object of its own, which has permissions in the metadata of its app.
    fn setting(&self) -> ConfObject {
        ConfObject { name: format!("{}/{}", self.object.name, self.key), ..self.object.clone() }
    }

    fn check_writable(&self, asked: &Asked<'_>) -> Result<(), RestError> {
        check_writable(asked, &self.object)?;
        check_writable(asked, &self.setting())
    }
}

async fn kinds(params: Params) -> Result<Response, RestError> {
    let entry = |kind: &Kind| Entry::new(PATH, kind.path, feed::content(json!({})));
    feed::respond("props", PATH, KINDS.iter().map(entry).collect(), &params)
}

struct PropsSettings;

impl Resource for PropsSettings {
    type Item = Found;

    fn about(&self) -> About {
        About { title: "props", path: PATH, one: "a setting", many: "settings of props.conf" }
    }

    fn place(&self, call: &Call) -> Result<(String, String), RestError> {
        let kind = kind(call)?.path;
        Ok((format!("props-{kind}"), format!("{PATH}/{kind}")))
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, call: &Call) -> Result<Option<Attributes>, RestError> {
        let kind = kind(call)?;
        Ok(Some(Attributes::new(&["name", "stanza"], kind.optional, kind.wildcard)))
    }

    fn entry(&self, call: &Call, found: &Found) -> Result<Entry, RestError> {
        Ok(kind(call)?.entry(&asked(call)?, &found.object, &found.key, &found.value))
    }

    async fn list(&self, call: &Call) -> Result<Vec<Found>, RestError> {
        let asked = asked(call)?;
        Ok(all(kind(call)?, &asked, &asked.namespace()?))
    }

    async fn find(&self, call: &Call) -> Result<Vec<Found>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|found| found.name() == call.name());
        found.truncate(1);
        Ok(found)
    }

    async fn create(&self, call: &Call) -> Result<Found, RestError> {
        let (kind, asked, params) = (kind(call)?, asked(call)?, &call.params);
        let there = asked.home_of_new()?;
        let apps = &call.state.apps;
        check_app(&call.state, &there.app)?;
        if there.owner == NOBODY {
            check_shared_writable(&asked, &there.app)?;
        }
        let stanza = params.required("stanza")?;
        let key = kind.key(params.required("name")?, params)?;
        let value = kind.value(params)?;
        kind.check(&call.state, &value)?;
        let name = format!("{stanza} : {key}");
        if all(kind, &asked, &there).iter().any(|found| found.name() == name) {
            let text = format!("there is a setting \"{name}\" already");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        let settings = vec![(key.clone(), value)];
        let object = match apps.create(CONF, stanza, &there, settings.clone()).await {
            Err(AppsError::Exists(_)) => {
                check_writable(&asked, &apps.get(CONF, stanza, &there)?)?;
                apps.update(CONF, stanza, &there, &settings).await?
            }
            made => made?,
        };
        let value = object.get(&key).unwrap_or_default().to_owned();
        Ok(Found { object, key, value })
    }

    async fn edit(&self, call: &Call, found: Found) -> Result<Found, RestError> {
        found.check_writable(&asked(call)?)?;
        let kind = kind(call)?;
        let value = kind.value(&call.params)?;
        kind.check(&call.state, &value)?;
        let object = set(call, &found, &value).await?;
        Ok(Found { object, value, ..found })
    }

    async fn remove(&self, call: &Call, found: Found) -> Result<(), RestError> {
        found.check_writable(&asked(call)?)?;
        let (stanza, there) = (&found.object.name, home(&found.object));
        call.state.apps.unset(CONF, stanza, &there, &found.key).await?;
        // Settings in files of the same namespace cannot be removed; a private object may have hidden others,
        // which remain.
        let private = |object: &ConfObject| object.sharing == Sharing::User;
        let left =
            call.state.apps.get(CONF, stanza, &there).ok().filter(|left| {
                left.app == found.object.app && private(left) == private(&found.object)
            });
        match left {
            // A new stanza of this name has permissions of its own, as after the removal of any object.
            None => Ok(call.state.permissions.remove(&found.object.place()).await?),
            Some(left) if left.get(&found.key).is_some_and(|value| !value.is_empty()) => {
                set(call, &found, "").await.map(drop)
            }
            Some(_) => Ok(()),
        }
    }
}

/// Sets the value of a setting that is there.
async fn set(call: &Call, found: &Found, value: &str) -> Result<ConfObject, RestError> {
    let settings = [(found.key.clone(), value.to_owned())];
    let there = home(&found.object);
    Ok(call.state.apps.update(CONF, &found.object.name, &there, &settings).await?)
}

fn all(kind: &Kind, asked: &Asked<'_>, namespace: &Namespace) -> Vec<Found> {
    let mut found = Vec::new();
    for object in objects(asked, namespace) {
        let own = object.settings.iter().filter(|(key, value)| kind.has(key) && !value.is_empty());
        for (key, value) in own {
            let (object, key, value) = (object.clone(), key.clone(), value.clone());
            let one = Found { object, key, value };
            if may_read(asked, &one.setting()) {
                found.push(one);
            }
        }
    }
    found
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/servicesNS/nobody/search/data/props/extractions";
    let one = format!("{path}/st%20%3A%20EXTRACT-one");
    let renames = "/servicesNS/nobody/search/data/props/sourcetype-rename";
    let fields = "/servicesNS/nobody/search/data/props/calcfields";
    let field = format!("{fields}/st%20%3A%20EVAL-x");
    let invalid = "the expression of a calculated field is invalid: ";
    let (form, absent) = ("stanza=st&name=one&value=(%3F%3Ca%3Ex)", "Could not find object");
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"name\":\"lookups\""),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("POST {path}"), form, 201, "st : EXTRACT-one"),
        case(&format!("POST {path}"), form, 409, "already"),
        case(&format!("POST {path}"), "stanza=st&name=two", 400, "a value is missing"),
        case(&format!("GET {path}?count=0"), "", 200, "st : EXTRACT-one"),
        case(&format!("GET {PATH}/none"), "", 404, absent),
        case(&format!("GET {path}/_new"), "", 200, "\"stanza\""),
        case(&format!("GET {one}"), "", 200, "(?<a>x)"),
        case(&format!("GET {path}/none"), "", 404, absent),
        case(&format!("POST {one}"), "value=(%3F%3Ca%3Ey)", 200, "(?<a>y)"),
        case(&format!("POST {one}"), "", 400, "a value is missing"),
        case(&format!("DELETE {one}"), "", 200, "\"entry\":[]"),
        case(&format!("DELETE {one}"), "", 404, absent),
        case(&format!("POST {fields}"), "stanza=st&name=x&value=foo(", 400, invalid),
        case(&format!("POST {fields}"), "stanza=st&name=x&value=bytes/1024", 201, "st : EVAL-x"),
        case(&format!("POST {field}"), "value=bytes/", 400, "bytes/"),
        case(&format!("POST {field}"), "value=bytes*8", 200, "bytes*8"),
        case(&format!("DELETE {field}"), "", 200, "\"entry\":[]"),
        case(&format!("POST {renames}"), "stanza=st&name=st&value=other", 201, "st : rename"),
        case(&format!("GET {renames}?count=0"), "", 200, "\"attribute\":\"rename\""),
        case(&format!("DELETE {renames}/st%20%3A%20rename"), "", 200, "\"entry\":[]"),
    ]
}
