//! `/services/data/inputs/oneshot`: files of this machine that are loaded once.

use std::path::PathBuf;
use std::sync::Arc;

use axum::response::Response;
use inputs::Sink;
use inputs::oneshot::{Oneshot, load};
use model::IndexName;
use serde_json::json;

use super::kind::check_path;
use super::{PATH, feed};
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;

/// Files that were taken in once are not remembered as inputs.
pub(super) async fn oneshots(params: Params) -> Result<Response, RestError> {
    feed::respond_empty("oneshot", &format!("{PATH}/oneshot"), &params)
}

/// Takes in a file of this machine: `name` is its path. Answers when its events are safe.
pub(super) async fn take_in_once(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let path = PathBuf::from(params.required("name")?);
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    state.indexes.check_takes(&index).map_err(RestError::invalid)?;
    if !path.is_absolute() || !path.is_file() {
        let text = format!("\"{}\" is not a file on this machine", path.display());
        return Err(RestError::invalid(text));
    }
    check_path(&state, &path)?;
    let target = Oneshot {
        index,
        host: params.text("host").unwrap_or(&state.info.host).into(),
        source: params.text("rename-source").map(Arc::from),
        sourcetype: params.text("sourcetype").map(Arc::from),
    };
    let sink = Arc::clone(&state.ingest) as Arc<dyn Sink>;
    let loaded = load(&sink, std::slice::from_ref(&path), &target, |_| {}).await?;
    if let Some((path, error)) = loaded.failed.first() {
        let text = format!("{}: {error}", path.display());
        return Err(RestError::of_kind(error.kind(), text));
    }
    let progress = loaded.progress;
    let content = feed::content(json!({
        "Bytes Indexed": progress.event_bytes, "Events": progress.events, "Offset": progress.bytes,
        "Size": progress.all_bytes, "Sources Indexed": 1,
    }));
    let entry = Entry::new(&format!("{PATH}/oneshot"), &path.to_string_lossy(), content);
    feed::respond_created("oneshot", &format!("{PATH}/oneshot"), entry, &params)
}
