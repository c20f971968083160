//! Errors of object storage that concern one object, not the whole store.

use std::io;

use rustix::io::Errno;

use super::put::READ;
use crate::Error;

/// Name of the operation that lists an archive, for errors.
pub(crate) const LIST: &str = "list";
/// Name of the operation that copies an object of an archive within the store, for errors.
pub(crate) const BRING_BACK: &str = "bring back";

/// Whether the store answers but cannot return this object: it refuses it, has lost it, or cannot read it
/// from disk. Other objects may be readable.
pub(crate) fn is_of_object(error: &Error) -> bool {
    let source = match error {
        Error::BucketRead(read) => match &**read {
            bucket::Error::Store { source, .. } => source,
            _ => return false,
        },
        Error::Storage { operation: LIST | READ | BRING_BACK, source, .. } => &**source,
        _ => return false,
    };
    refuses_object(source)
}

/// Whether this error of a store concerns one object, see [`is_of_object`].
pub(crate) fn refuses_object(source: &object_store::Error) -> bool {
    if matches!(
        source,
        object_store::Error::PermissionDenied { .. } | object_store::Error::NotFound { .. }
    ) {
        return true;
    }
    // For a directory, the cause is further down in the chain of errors.
    let first: &(dyn std::error::Error + 'static) = source;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(is_of_file)
}

/// Whether a single file cannot be read although its disk is available: its blocks are damaged, or this
/// process lacks the permission.
fn is_of_file(error: &io::Error) -> bool {
    let damaged = [Errno::IO, Errno::BADMSG].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::PermissionDenied
        || error.raw_os_error().is_some_and(|number| damaged.contains(&number))
}
