//! The object store at the start of a process: it is opened and asked before anything is read from it.

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
use super::store_conf;
use crate::config::ServerOptions;

/// Pause between the requests to an object store that is waited for.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// Opens the object store and asks it for something: whether it has a catalog. A store that this data
/// directory has been used with is waited for, as after the start.
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
        // Refusals need somebody who corrects credentials or rights.
        if !is_known || !matches!(error, object_store::Error::Generic { .. }) {
            let advice = store_advice(&error.to_string());
            let context = format!("cannot read the object store (--object-store){advice}");
            return Err(anyhow::Error::from(error).context(context));
        }
        progress.set(format!("waiting for the object store: {error}"));
        tracing::warn!(%error, "waiting for the object store, which does not answer");
        tokio::time::sleep(STORE_PAUSE).await;
    }
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
fn store_advice(error: &str) -> &'static str {
    let has = |texts: &[&str]| texts.iter().any(|text| error.contains(text));
    if has(&["169.254.169.254", "169.254.170.2"]) {
        return "; no credentials were given, so the machine's metadata service was asked: set \
                AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    }
    if has(&["NoSuchBucket"]) {
        return "; create the bucket first, or correct its name";
    }
    if has(&[
        "403 Forbidden",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "401 ",
    ]) {
        return "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the rights of that key";
    }
    if has(&["(Connect)", "dns error", "error sending request", "301 Moved"]) {
        return "; check AWS_ENDPOINT, AWS_REGION and the network";
    }
    ""
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
}
