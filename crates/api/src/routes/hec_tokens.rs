//! `/services/data/inputs/http`: HEC tokens, and the settings of all of them under the name `http`.

use apps::{NOBODY, Namespace};
use model::IndexName;
use serde_json::{Map, Value, json};

use super::data_inputs::home;
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::http_input::{ConnectionHost, HttpInput};
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::Routes;
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};
use access::HecToken;

const PATH: &str = "/services/data/inputs/http";
/// The entry with the settings for all tokens.
const GLOBAL: &str = "http";

pub(super) fn routes() -> Routes {
    let may = Some(May("edit_token_http"));
    let access =
        Access { list: may, create: may, show: may, edit: may, remove: may, act: may, acl: None };
    Routes::default().resource(PATH, &Tokens, &access)
}

/// Returns the entry of a token with its secret: users who may not change tokens do not see them at all.
fn entry(token: &HecToken) -> Entry {
    let content = [
        ("token", json!(token.token)),
        ("index", json!(token.index)),
        ("indexes", json!(token.indexes)),
        ("sourcetype", json!(token.sourcetype)),
        ("source", json!(token.source)),
        ("host", json!(token.host)),
        ("disabled", json!(token.disabled)),
        ("useACK", json!(token.use_ack)),
        ("allowQueryStringAuth", json!(token.allow_query_string_auth)),
    ];
    Entry::new(PATH, &token.name, members(content))
}

fn global(state: &ApiState) -> Result<Entry, RestError> {
    let settings = HttpInput::read(state.knowledge.layers()).map_err(crate::Error::from)?;
    let connection_host = match settings.connection_host {
        ConnectionHost::Address => "ip",
        ConnectionHost::Proxied => "proxied_ip",
        ConnectionHost::Server => "none",
    };
    let acks = &settings.acks;
    let content = [
        ("disabled", json!(false)),
        ("connection_host", json!(connection_host)),
        ("ackIdleCleanup", json!(acks.idle_cleanup)),
        ("maxIdleTime", json!(acks.max_idle.as_secs())),
        ("max_content_length", json!(settings.max_content_length)),
        ("max_number_of_tokens", json!(settings.max_tokens)),
        ("max_number_of_ack_channel", json!(acks.max_channels)),
        ("max_number_of_acked_requests_pending_query", json!(acks.max_pending)),
        (
            "max_number_of_acked_requests_pending_query_per_ack_channel",
            json!(acks.max_pending_per_channel),
        ),
    ];
    Ok(Entry::new(PATH, GLOBAL, members(content)))
}

fn members<const N: usize>(content: [(&str, Value); N]) -> Map<String, Value> {
    content.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Splunk names them with the scheme in front.
fn bare(name: &str) -> &str {
    name.strip_prefix("http://").unwrap_or(name)
}

fn found(state: &ApiState, name: &str) -> Result<HecToken, RestError> {
    let token = state.tokens.named(bare(name));
    let missing = || RestError::not_found(format!("Could not find object id={name}"));
    token.map(|token| token.as_ref().clone()).ok_or_else(missing)
}

struct Tokens;

/// An entry of the collection.
enum Item {
    Token(HecToken),
    Global,
}

impl Resource for Tokens {
    type Item = Item;

    fn about(&self) -> About {
        About {
            title: "http",
            path: PATH,
            one: "a token",
            many: "tokens of the HTTP Event Collector",
        }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn entry(&self, call: &Call, item: &Item) -> Result<Entry, RestError> {
        match item {
            Item::Token(token) => Ok(entry(token)),
            Item::Global => global(&call.state),
        }
    }

    async fn list(&self, call: &Call) -> Result<Vec<Item>, RestError> {
        let tokens = call.state.tokens.all();
        Ok(tokens.iter().map(|token| Item::Token(token.as_ref().clone())).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Item>, RestError> {
        Ok(vec![match call.state.tokens.named(bare(call.name())) {
            None if call.name() == GLOBAL => Item::Global,
            _ => Item::Token(found(&call.state, call.name())?),
        }])
    }

    async fn create(&self, call: &Call) -> Result<Item, RestError> {
        let name = bare(call.params.required("name")?).to_owned();
        if call.state.tokens.named(&name).is_some() {
            let text = format!("a token \"{name}\" exists already");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        let main = IndexName::new("main").map_err(|error| RestError::invalid(error.to_string()))?;
        let mut token = HecToken::new(&name, &runtime::random::uuid().to_string(), main);
        apply(&call.state, &mut token, &call.params)?;
        put(call, token).await
    }

    async fn edit(&self, call: &Call, item: Item) -> Result<Item, RestError> {
        let Item::Token(mut token) = item else {
            let text = "the settings of all tokens are defined in inputs.conf [http] and limits.conf \
                        [http_input]; change them there and restart";
            return Err(RestError::invalid(text));
        };
        apply(&call.state, &mut token, &call.params)?;
        change(call, token).await
    }

    fn actions(&self) -> &'static str {
        "`enable`, `disable`, or `rotate` (new secret)"
    }

    async fn act(&self, call: &Call, item: Item, action: &str) -> Result<Option<Item>, RestError> {
        let mut token = token(call, item)?;
        match action {
            "enable" => token.disabled = false,
            "disable" => token.disabled = true,
            "rotate" => token.token = runtime::random::uuid().to_string(),
            _ => {
                let text =
                    format!("a token has no \"{action}\"; there are enable, disable, rotate");
                return Err(RestError::not_found(text));
            }
        }
        change(call, token).await.map(Some)
    }

    async fn remove(&self, call: &Call, item: Item) -> Result<(), RestError> {
        let name = token(call, item)?.name;
        if is_configured(&call.state, &name) {
            let text = format!(
                "[http://{name}] is defined in inputs.conf; disable it, or remove it there"
            );
            return Err(RestError::invalid(text));
        }
        call.state.tokens.remove(&name).await?;
        Ok(())
    }
}

fn token(call: &Call, item: Item) -> Result<HecToken, RestError> {
    match item {
        Item::Token(token) => Ok(token),
        Item::Global => Err(RestError::no_object(call.name())),
    }
}

fn is_configured(state: &ApiState, name: &str) -> bool {
    home(state, &format!("http://{name}")).is_some_and(|home| home.in_files)
}

/// Stores a changed token. A token of a stanza of `inputs.conf` is also stored as a change of that stanza,
/// from which the next start reads it.
async fn change(call: &Call, token: HecToken) -> Result<Item, RestError> {
    let stanza = format!("http://{}", token.name);
    if let Some(home) = home(&call.state, &stanza) {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let names = token.indexes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let settings = [
            ("disabled", u8::from(token.disabled).to_string()),
            ("token", token.token.clone()),
            ("index", token.index.to_string()),
            ("indexes", names.join(",")),
            ("sourcetype", text(&token.sourcetype)),
            ("source", text(&token.source)),
            ("host", text(&token.host)),
            ("useACK", u8::from(token.use_ack).to_string()),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value));
        let namespace = Namespace::new(NOBODY, &home.app);
        call.state.apps.update("inputs", &stanza, &namespace, &settings).await?;
    }
    put(call, token).await
}

async fn put(call: &Call, token: HecToken) -> Result<Item, RestError> {
    call.state.tokens.put(token.clone()).await?;
    Ok(Item::Token(token))
}

/// Changes the settings in the request. An empty text removes a default.
fn apply(state: &ApiState, token: &mut HecToken, params: &Params) -> Result<(), RestError> {
    let index = |name: &str| -> Result<IndexName, RestError> {
        let index = IndexName::new(name).map_err(|e| RestError::invalid(e.to_string()))?;
        index.check_open().map_err(|error| RestError::invalid(error.to_string()))?;
        if state.indexes.contains(&index) {
            return Ok(index);
        }
        let fix = "create it first at /services/data/indexes";
        Err(RestError::invalid(format!("there is no index \"{name}\"; {fix}")))
    };
    if let Some(secret) = params.text("token") {
        secret.clone_into(&mut token.token);
    }
    if let Some(name) = params.text("index") {
        token.index = index(name)?;
    }
    if let Some(names) = params.get("indexes") {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        token.indexes = names.map(index).collect::<Result<_, _>>()?;
    }
    let texts = [
        ("sourcetype", &mut token.sourcetype),
        ("source", &mut token.source),
        ("host", &mut token.host),
    ];
    for (name, value) in texts {
        if let Some(text) = params.get(name) {
            *value = Some(text.to_owned()).filter(|text| !text.is_empty());
        }
    }
    let flags = [
        ("disabled", &mut token.disabled),
        ("useACK", &mut token.use_ack),
        ("allowQueryStringAuth", &mut token.allow_query_string_auth),
    ];
    for (name, value) in flags {
        if params.text(name).is_some() {
            *value = params.flag(name);
        }
    }
    Ok(())
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let mut all = object_cases(PATH, "index=main", "sourcetype=st");
    all.extend([
        case(&format!("GET {PATH}/http"), "", 200, "max_number_of_tokens"),
        case(&format!("POST {PATH}/http"), "disabled=1", 400, "are defined in inputs.conf"),
        case(&format!("POST {PATH}/one"), "index=none", 400, "there is no index"),
        case(&format!("POST {PATH}/one/rotate"), "", 200, "\"token\""),
        case(&format!("POST {PATH}/one/explode"), "", 404, "a token has no"),
    ]);
    all.extend(removal_cases(PATH, 404));
    all
}
