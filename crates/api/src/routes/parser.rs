//! `/services/search/parser`, `timeparser` and `typeahead`: help for writing searches.

use axum::http::StatusCode;
use axum::response::Response;
use jiff::tz::TimeZone;
use knowledge::time::{LocalClock, TimeFormat};
use model::EventTime;
use search::{
    AggregateCall, Arguments, CommandKind, CommandPlace, JobRequest, Outline, OutlinedCommand,
    Page, Value, without_leading_comments,
};
use serde_json::{Map, Value as Json, json};

use super::jobs::{of_caller, searchable_indexes};
use crate::ApiState;
use crate::atom::value_xml;
use crate::call::Call;
use crate::error::RestError;
use crate::output::{OutputMode, ResponseMeta, xml_text};
use crate::rights::Need::{May, Session};
use crate::rights::SEARCH;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/search/parser",
            get(SEARCH, "Parses a search", parse).post(SEARCH, "The same, with a form", parse),
        )
        .at("/services/search/timeparser", get(Session, "Parses time modifiers", times))
        .at(
            "/services/search/typeahead",
            get(May("get_typeahead"), "Completions of the last word of a search", typeahead),
        )
}

/// Default number of suggestions.
const SUGGESTIONS: usize = 50;

/// Parses a search and explains it. Unlike a job's search, it has to begin with a command or a `|`.
async fn parse(Call { state, caller, namespace, params, .. }: Call) -> Result<Response, RestError> {
    // The parser's parameter is `q`, the jobs' is `search`.
    let search = params.text("q").or_else(|| params.text("search"));
    let search = search.ok_or_else(|| RestError::invalid("add q=<SPL> to the request"))?;
    let request = of_caller(&state, search, &caller, &namespace);
    check_beginning(&state, search, &request)?;
    let commands = commands(&state.search.outline(&request)?);
    let planned = state.search.check(&request).await?;
    let mode = OutputMode::of(&params)?;
    if mode.is_json() {
        let body = json!({
            "normalizedSearch": planned.normalized, "remoteSearch": planned.normalized,
            "messages": crate::output::messages_json(&planned.messages), "commands": commands,
        });
        return Ok(mode.respond(StatusCode::OK, body.to_string()));
    }
    let mut body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response \
         xmlns:s=\"http://dev.splunk.com/ns/rest\">\n<dict>\n\
         <key name=\"normalizedSearch\">{0}</key>\n<key name=\"remoteSearch\">{0}</key>\n\
         </dict>\n<list>\n",
        xml_text(&planned.normalized)
    );
    for command in &commands {
        body.push_str("<item>");
        value_xml(command, &mut body);
        body.push_str("</item>\n");
    }
    body.push_str("</list>\n</response>\n");
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// The commands of a search as clients of the parser read them.
fn commands(outline: &Outline) -> Vec<Json> {
    let one = |command: &OutlinedCommand| {
        let reports = matches!(command.kind, CommandKind::Transforming);
        json!({
            "command": command.name,
            "rawargs": command.written,
            "pipeline": if reports { "report" } else { "streaming" },
            "args": arguments(&command.arguments),
            "isGenerating": command.generates,
            "isStreamingOpRequired": false,
            "streamType": match command.place {
                CommandPlace::Indexers => "SP_STREAM",
                CommandPlace::Both => "SP_STREAMREPORT",
                CommandPlace::SearchHead => "SP_EVENTS",
            },
        })
    };
    outline.commands.iter().map(one).collect()
}

fn arguments(arguments: &Arguments) -> Json {
    let calls = |calls: &[AggregateCall]| -> Vec<Json> {
        let one = |call: &AggregateCall| json!({"function": call.function, "field": call.field, "rename": call.rename});
        calls.iter().map(one).collect()
    };
    match arguments {
        Arguments::Search(text) => json!({"search": [text]}),
        Arguments::Stats { calls: all, by } => {
            json!({"stat-specifiers": calls(all), "groupby-fields": by})
        }
        Arguments::Timechart { calls: all, series } => {
            json!({"stat-specifiers": calls(all), "groupby-field": series})
        }
        Arguments::Top { limit, showcount, showperc, countfield, percentfield, fields } => json!({
            "limit": limit, "showcount": showcount, "showperc": showperc,
            "countfield": countfield, "percentfield": percentfield, "top-fields": fields,
        }),
        Arguments::Text(text) => json!(text),
    }
}

fn check_beginning(state: &ApiState, search: &str, request: &JobRequest) -> Result<(), RestError> {
    let text = without_leading_comments(search);
    if text.starts_with(['|', '[']) || state.search.begins_with_command(text, request) {
        return Ok(());
    }
    let word = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    let word = word.unwrap_or_default();
    Err(RestError::invalid(format!("Unknown search command '{word}'.")))
}

/// Times as searches understand them: `time`, repeated; `now` and `output_time_format` as there.
async fn times(Call { state, caller, params, .. }: Call) -> Result<Response, RestError> {
    let zone = state.accounts.user(&caller.user).and_then(|user| TimeZone::get(&user.tz).ok());
    let zone = zone.unwrap_or(TimeZone::UTC);
    let parse = |text: &str, now: EventTime| {
        knowledge::time::parse_time(text, now, &zone)
            .map_err(|error| RestError::invalid(format!("\"{text}\" is not a time: {error}")))
    };
    let mut now = state.clock.now();
    if let Some(text) = params.text("now") {
        now = parse(text, now)?;
    }
    let format = params.text("output_time_format").unwrap_or("%Y-%m-%dT%H:%M:%S.%Q%:z");
    let format = TimeFormat::parse(format);
    let clock = LocalClock::new(zone.clone());
    let mut found = Map::new();
    for text in params.all("time") {
        let text = text.trim();
        let time = parse(text, now)?;
        let mut written = String::new();
        format.strftime(time, &clock, &mut written);
        found.insert(text.to_owned(), json!(written));
    }
    if OutputMode::of(&params)?.is_json() {
        let body = Json::Object(found).to_string();
        return Ok(OutputMode::Json.respond(StatusCode::OK, body));
    }
    let mut body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response>\n<dict>\n".to_owned();
    for (text, time) in &found {
        let time = time.as_str().unwrap_or_default();
        body.push_str(&format!("<key name=\"{}\">{}</key>\n", xml_text(text), xml_text(time)));
    }
    body.push_str("</dict>\n</response>\n");
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// Returns completions of the last word of `prefix`: names of indexes after `index=`, otherwise according to
/// the grammar.
async fn typeahead(Call { state, caller, params, .. }: Call) -> Result<Response, RestError> {
    let prefix = params.get("prefix").unwrap_or_default();
    let count = params.count()?.filter(|count| *count > 0).unwrap_or(SUGGESTIONS);
    let word = prefix.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let mut found: Vec<(String, bool)> = match word.split_once('=') {
        Some(("index", typed)) => {
            let typed = typed.trim_matches('"');
            let names = searchable_indexes(&state, &caller);
            let fitting = names.iter().filter(|name| name.as_str().starts_with(typed));
            fitting.map(|name| (format!("index=\"{name}\""), false)).collect()
        }
        _ => {
            let known = state.search.complete(prefix, prefix.len());
            known.into_iter().map(|known| (known.text, true)).collect()
        }
    };
    found.truncate(count);
    let cell = |text: String| Some(Value::One(text));
    let rows = found.into_iter().map(|(content, operator)| {
        vec![cell(content), cell("0".to_owned()), cell(operator.to_string())]
    });
    let fields = ["content", "count", "operator"].map(str::to_owned).to_vec();
    let page = Page { fields, rows: rows.collect() };
    let mode = OutputMode::of(&params)?;
    Ok(mode.respond(StatusCode::OK, mode.write(ResponseMeta::default(), &page)))
}

/// A subsearch of a form.
#[cfg(test)]
const SUBSEARCH: &str = "%5B%7C+makeresults+%7C+eval+search%3D1+%7C+return+%24search%5D";

/// A form with a search whose last command has the result of a subsearch as its arguments.
#[cfg(test)]
fn written_by_subsearch(command: &str) -> String {
    format!("q=%7C+makeresults+%7C+{command}+{SUBSEARCH}")
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let parser = "/services/search/parser";
    vec![
        case(&format!("POST {parser}"), "q=search+a+%7C+stats+count", 200, "\"commands\""),
        case(&format!("GET {parser}?q=search+a+%7C+stats+count"), "", 200, "\"commands\""),
        case(&format!("POST {parser}"), &written_by_subsearch("eval"), 200, "\"commands\""),
        case(&format!("POST {parser}"), &written_by_subsearch("stats"), 200, "\"commands\""),
        case(
            &format!("POST {parser}"),
            &written_by_subsearch("stats+count+by"),
            200,
            "\"commands\"",
        ),
        case(&format!("POST {parser}"), &written_by_subsearch("rename"), 200, "\"commands\""),
        case(&format!("POST {parser}"), &written_by_subsearch("head"), 200, "\"commands\""),
        case(
            &format!("POST {parser}"),
            &format!("q=search+earliest%3D-1h+latest%3D{SUBSEARCH}"),
            200,
            "\"commands\"",
        ),
        case(&format!("GET {parser}"), "", 400, "add q=<SPL>"),
        case(&format!("POST {parser}"), "", 400, "add q=<SPL>"),
        case(&format!("POST {parser}"), "q=nothing+a", 400, "Unknown search command 'nothing'"),
        case("GET /services/search/timeparser?time=0&output_mode=json", "", 200, "1970-01-01T"),
        case("GET /services/search/timeparser?time=soonish", "", 400, "is not a time"),
        case("GET /services/search/typeahead?prefix=index%3D", "", 200, "main"),
        case("GET /services/search/typeahead?prefix=a&count=x", "", 400, "must be a whole number"),
    ]
}
