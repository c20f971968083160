//! The object store at the start of a process: it is opened and asked before anything is read from it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use conf::Layers;
use futures::TryStreamExt;
use object_store::ObjectStore;

use super::assemble::store_url;
use super::gateway::Progress;
use super::known_store::KnownStore;
use super::leadership::CATALOG;
use super::ownership::now_text;
use super::store_conf;
use crate::config::ServerOptions;

/// Pause between the requests to an object store that is waited for.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// Opens the object store and asks it for something: whether it has a catalog. A store that this data
/// directory has been used with is waited for, as after the start, also while it refuses the time of this
/// machine.
pub(crate) async fn object_store(
    options: &ServerOptions,
    layers: &Layers,
    (data, progress): (&Path, &Progress),
) -> Result<(Arc<dyn ObjectStore>, bool)> {
    let opened = runtime::store::open(&store_url(options), &store_conf::store(layers)?)?;
    tracing::info!(store = opened.description, "object store");
    // A directory that cannot be listed is not mounted, or the wrong one.
    let is_known = store_url(options).contains("://") && KnownStore::of(data).is_there();
    loop {
        let error = match reach(opened.store.as_ref()).await {
            Ok(has_catalog) => return Ok((opened.store, has_catalog)),
            Err(error) => error,
        };
        let advice = store_advice(&error.to_string());
        if !is_known || !passes_by_itself(&error) {
            let context = format!("cannot read the object store (--object-store){advice}");
            return Err(anyhow::Error::from(error).context(context));
        }
        progress.set(format!("waiting for the object store{advice}: {error}"));
        tracing::warn!(%error, "waiting for the object store, which does not answer requests{advice}");
        tokio::time::sleep(STORE_PAUSE).await;
    }
}

/// Whether an error of the store ends without a change of its settings: it does not answer, or the clock of
/// this machine is still to be set. Refusals need somebody who corrects credentials or rights.
fn passes_by_itself(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { .. })
        || runtime::store::is_clock_skew(&error.to_string())
}

/// Asks the store, for some seconds at most: at a first start, it is more likely that the URL or the
/// credentials are wrong, and somebody is there to read it. Returns whether there is a catalog.
async fn reach(store: &dyn ObjectStore) -> object_store::Result<bool> {
    let prefix = object_store::path::Path::from(CATALOG);
    let list = || async { store.list(Some(&prefix)).try_next().await };
    let listed = runtime::store::ask_again(CATALOG, list).await;
    listed.map(|first| first.is_some())
}

/// Returns a remedy if an S3 store cannot be read.
fn store_advice(error: &str) -> Cow<'static, str> {
    let has = |texts: &[&str]| texts.iter().any(|text| error.contains(text));
    // Before the rule for refusals, of which it is one.
    if runtime::store::is_clock_skew(error) {
        let now = now_text();
        return format!(
            "; the clock of this machine ({now}) differs from that of the store: set it, for example with NTP"
        )
        .into();
    }
    let known = if has(&["169.254.169.254", "169.254.170.2"]) {
        "; no credentials were given, so the machine's metadata service was asked: set \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    } else if has(&["NoSuchBucket"]) {
        "; create the bucket first, or correct its name"
    } else if has(&[
        "403 Forbidden",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "401 ",
    ]) {
        "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the rights of that key"
    } else if has(&["(Connect)", "dns error", "error sending request", "301 Moved"]) {
        "; check AWS_ENDPOINT, AWS_REGION and the network"
    } else {
        ""
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_store_that_cannot_be_read_says_which_variables_to_check() {
        let connect =
            "HTTP error: error sending request: client error (Connect): tcp connect error";
        assert!(store_advice(connect).contains("AWS_ENDPOINT"));
        let metadata = "PUT http://169.254.169.254/latest/api/token: 403 Forbidden";
        assert!(store_advice(metadata).contains("no credentials were given"));
        assert!(store_advice("403 Forbidden: SignatureDoesNotMatch").contains("SECRET_ACCESS_KEY"));
        assert_eq!(store_advice("no such file"), "");
    }

    #[test]
    fn a_wrong_clock_is_named_and_waited_for() {
        let refused = |code: &str| {
            let text = format!("403 Forbidden: <Error><Code>{code}</Code></Error>");
            object_store::Error::PermissionDenied { path: CATALOG.to_owned(), source: text.into() }
        };
        let skewed = refused("RequestTimeTooSkewed");
        let advice = store_advice(&skewed.to_string());
        assert!(
            advice.contains("the clock of this machine (2") && !advice.contains("KEY"),
            "{advice}"
        );
        assert!(passes_by_itself(&skewed));
        assert!(!passes_by_itself(&refused("SignatureDoesNotMatch")));
    }
}
