//! `dnslookup`: the built-in lookup of host names and addresses.
//!
//! Queries the hosts file and the name servers of the system, many concurrently. An unknown name or address
//! has no row; if no name server answers, the lookup fails. Dropping the future cancels it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::net::NetError;
use hickory_resolver::proto::rr::{Name, RData};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::command::WAIT_SETTING;
use crate::error::Error;
use crate::settings::Settings;
use crate::table::{Column, Table};

/// The name of the lookup, and of its program in `external_cmd`.
pub const DNS_LOOKUP: &str = "dnslookup";
/// Its fields.
const FIELDS: [&str; 2] = ["clienthost", "clientip"];
/// Maximum number of concurrent queries.
const QUESTIONS: usize = 32;
/// Time limit for an answer of a name server.
const PATIENCE: Duration = Duration::from_secs(2);

/// A name and its address.
type Pair = [String; 2];

/// Looks up the names and addresses for the keys, which have one or both of the two fields.
///
/// # Errors
/// If no name server answers in time.
pub async fn look_up_names(keys: &Table, settings: &Settings) -> Result<Table, Error> {
    let resolver = resolver().map_err(unknown)?;
    let slots = Arc::new(Semaphore::new(QUESTIONS));
    let mut questions = JoinSet::new();
    for row in 0..keys.count {
        let [host, address] = FIELDS.map(|field| cell(keys, field, row).to_owned());
        let (resolver, slots) = (resolver.clone(), Arc::clone(&slots));
        questions.spawn(async move {
            let _slot = slots.acquire_owned().await;
            (row, ask(&resolver, host, address).await)
        });
    }
    let asked = tokio::time::timeout(settings.answer_time, questions.join_all()).await;
    let mut answers = asked.map_err(|_| Error::Silent {
        program: format!("the lookup \"{DNS_LOOKUP}\""),
        seconds: settings.answer_time.as_secs(),
        setting: WAIT_SETTING,
        said: String::new(),
    })?;
    answers.sort_by_key(|(row, _)| *row);
    let is_answered = answers.iter().any(|(_, answer)| answer.is_ok());
    let mut pairs: Vec<Pair> = Vec::new();
    let mut missing = (0, None);
    for (_, answer) in answers {
        match answer {
            Ok(found) => pairs.extend(found),
            Err(error) if !is_answered => return Err(unknown(error)),
            Err(error) => missing = (missing.0 + 1, Some(error)),
        }
    }
    if let (names, Some(error)) = missing {
        tracing::warn!(names, %error, "no name server answered some questions of the lookup dnslookup");
    }
    let column = |(at, name): (usize, &str)| {
        let values = pairs.iter().map(|pair| vec![pair[at].clone()]).collect();
        Column { name: name.to_owned(), values }
    };
    Ok(Table { columns: FIELDS.into_iter().enumerate().map(column).collect(), count: pairs.len() })
}

fn unknown(error: NetError) -> Error {
    Error::Names { reason: error.to_string() }
}

fn resolver() -> Result<TokioResolver, NetError> {
    let mut builder = TokioResolver::builder_tokio()?;
    let options = builder.options_mut();
    options.timeout = PATIENCE;
    options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
    builder.build()
}

fn cell<'t>(keys: &'t Table, field: &str, row: usize) -> &'t str {
    let values = keys.column(field).and_then(|column| column.values.get(row));
    values.and_then(|values| values.first()).map_or("", |value| value.trim())
}

/// Looks up a name or an address; if both are given, they are returned unchanged.
async fn ask(
    resolver: &TokioResolver,
    host: String,
    address: String,
) -> Result<Vec<Pair>, NetError> {
    match (host.is_empty(), address.is_empty()) {
        (false, false) => Ok(vec![[host, address]]),
        (false, true) => {
            // A text that is not a valid name has no address, so that no query is needed.
            let Ok(name) = Name::from_utf8(&host) else { return Ok(Vec::new()) };
            let found = known(resolver.lookup_ip(name).await)?;
            let addresses = found.iter().flat_map(|found| found.iter()).map(|ip| ip.to_string());
            Ok(addresses.map(|address| [host.clone(), address]).collect())
        }
        (true, false) => {
            let Ok(ip) = address.parse::<IpAddr>() else { return Ok(Vec::new()) };
            let found = known(resolver.reverse_lookup(Name::from(ip)).await)?;
            let records = found.iter().flat_map(|found| found.answers());
            let host = records.into_iter().find_map(|record| match &record.data {
                RData::PTR(name) => Some(name.0.to_utf8().trim_end_matches('.').to_owned()),
                _ => None,
            });
            Ok(host.map(|host| [host, address]).into_iter().collect())
        }
        (true, true) => Ok(Vec::new()),
    }
}

/// The answer; `None` if the name does not exist.
fn known<T>(answer: Result<T, NetError>) -> Result<Option<T>, NetError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_no_records_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn keys(field: &str, values: &[&str]) -> Table {
        let values: Vec<_> = values.iter().map(|value| vec![(*value).to_owned()]).collect();
        let count = values.len();
        Table { columns: vec![Column { name: field.to_owned(), values }], count }
    }

    #[tokio::test]
    async fn this_machine_is_known_by_its_name() {
        let asked = keys("clienthost", &["localhost"]);
        let found = look_up_names(&asked, &Settings::default()).await.unwrap();
        let pairs = (found.columns[0].values.clone(), found.columns[1].values.clone());
        assert_eq!(pairs.0[0], ["localhost"]);
        assert!(pairs.1.contains(&vec!["127.0.0.1".to_owned()]), "{pairs:?}");
    }

    #[tokio::test]
    async fn what_is_not_a_name_or_an_address_has_no_row() {
        for (field, value) in [("clientip", "web-1"), ("clienthost", ""), ("other", "x")] {
            let found = look_up_names(&keys(field, &[value]), &Settings::default()).await.unwrap();
            assert_eq!(found.count, 0, "{field}={value}");
        }
    }

    #[tokio::test]
    async fn a_name_with_its_address_is_what_it_is() {
        let mut both = keys("clienthost", &["a"]);
        both.columns.extend(keys("clientip", &["10.0.0.1"]).columns);
        let found = look_up_names(&both, &Settings::default()).await.unwrap();
        let cells: Vec<_> =
            found.columns.iter().flat_map(|column| column.values[0].clone()).collect();
        assert_eq!(cells, ["a", "10.0.0.1"]);
    }
}
