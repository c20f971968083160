//! Conversion of changes, states and errors of the catalog into messages (`schemas/proto/catalog.proto`).

use bytes::Bytes;
use model::{BucketEntry, BucketId, IndexerId, JournalPosition, StreamId};
use prost::Message;
use protocol::catalog::{CommitRequest, Entry as Pair, Failure, FailureKind, Range};
use tonic::{Code, Status};

use crate::codec::{self, Damage, Entry, Shared, content};
use crate::commit::{Documents, NamedDocument};
use crate::{Commit, Discarded, Error, JournalRange, Takeover};

/// Maximum length of a message. A longer commit or document is refused by the sender.
pub(crate) const MAX_MESSAGE: usize = 64 << 20;
/// Length above which an answer is split into parts.
pub(crate) const PART: usize = 1 << 20;

/// The service and its methods.
pub(crate) const SERVICE: &str = "karst.catalog.v1.Catalog";
pub(crate) const COMMIT: &str = "/karst.catalog.v1.Catalog/Commit";
pub(crate) const FOLLOW: &str = "/karst.catalog.v1.Catalog/Follow";
pub(crate) const SUMMARIES: &str = "/karst.catalog.v1.Catalog/Summaries";
/// Maximum number of summaries in one request.
pub(crate) const MAX_IDS: usize = 1_000;

/// A change that a follower requests from its leader.
#[derive(Debug)]
pub(crate) enum Wanted {
    Commit(Commit),
    Documents(Documents),
}

pub(crate) fn pair(key: Vec<u8>, value: Vec<u8>) -> Pair {
    Pair { key: key.into(), value: Some(value.into()) }
}

pub(crate) fn bytes_of(pair: &Pair) -> usize {
    pair.key.len() + pair.value.as_ref().map_or(0, Bytes::len) + 16
}

pub(crate) fn id_bytes(id: BucketId) -> Bytes {
    Bytes::copy_from_slice(id.0.as_bytes())
}

fn uuid_of(bytes: &[u8]) -> Result<uuid::Uuid, Damage> {
    uuid::Uuid::from_slice(bytes).map_err(content)
}

pub(crate) fn id_of(bytes: &[u8]) -> Result<BucketId, Damage> {
    uuid_of(bytes).map(BucketId)
}

/// Converts a commit into a request.
pub(crate) fn commit_request(commit: &Commit) -> Result<CommitRequest, Damage> {
    let mut add = Vec::with_capacity(commit.add.len() * 2);
    for entry in &commit.add {
        let (value, fingerprint) = codec::summary_value(&entry.summary)?;
        let header = model::BucketHeader { fingerprint, ..model::BucketHeader::of(entry) };
        add.push(pair(codec::header_key(&entry.index, entry.id), codec::header_value(&header)));
        add.push(pair(codec::summary_key(entry.id), value));
    }
    let range = |range: &JournalRange| Range {
        stream: codec::position_key(&range.stream).into(),
        from: range.from.map(|from| from.0),
        upto: range.upto.0,
        epoch: range.epoch,
    };
    let owner = |taken: &Takeover| {
        let key = codec::owner_key(taken.indexer, taken.set);
        pair(key, codec::owner_value(taken.epoch, taken.owner))
    };
    let discarded = |object: &Discarded| {
        pair(codec::discarded_key(&object.path), codec::time_value(object.delete_after))
    };
    Ok(CommitRequest {
        add,
        remove: commit.remove.iter().map(|id| id_bytes(*id)).collect(),
        expect: commit.expect.iter().map(|id| id_bytes(*id)).collect(),
        ranges: commit.ranges.iter().map(range).collect(),
        take_over: commit.take_over.iter().map(owner).collect(),
        discard: commit.discard.iter().map(discarded).collect(),
        forget: commit.forget.clone(),
        ..CommitRequest::default()
    })
}

/// Converts a change of documents into a request.
pub(crate) fn documents_request(documents: &Documents) -> Result<CommitRequest, Damage> {
    let pairs = |documents: &[NamedDocument]| {
        let pair = |(kind, name, json): &NamedDocument| {
            let value = json.as_ref().map(codec::json_value).transpose()?;
            let key = codec::document_key(kind, name).into();
            Ok(Pair { key, value: value.map(Bytes::from) })
        };
        documents.iter().map(pair).collect::<Result<Vec<_>, Damage>>()
    };
    Ok(CommitRequest {
        documents: pairs(&documents.after)?,
        documents_before: pairs(&documents.before)?,
        ..CommitRequest::default()
    })
}

/// Decodes the change of a request.
pub(crate) fn wanted(request: CommitRequest) -> Result<Wanted, Damage> {
    let shared = &mut Shared::default();
    let CommitRequest { add, remove, expect, ranges, take_over, discard, forget, .. } = request;
    let (documents, before) = (request.documents, request.documents_before);
    if !documents.is_empty() || !before.is_empty() {
        let others = [add.len(), remove.len(), expect.len(), ranges.len()];
        let rest = [take_over.len(), discard.len(), forget.len()];
        if others.iter().chain(&rest).any(|len| *len > 0) {
            return Err(content("documents and buckets are in one request"));
        }
        let read = |pairs: &[Pair]| pairs.iter().map(document_of).collect::<Result<_, _>>();
        let documents = Documents { after: read(&documents)?, before: read(&before)? };
        return Ok(Wanted::Documents(documents));
    }
    let mut commit = Commit { forget, ..Commit::default() };
    for two in add.chunks(2) {
        commit.add.push(bucket_of(two, shared)?);
    }
    for id in remove {
        commit.remove.push(id_of(&id)?);
    }
    for id in expect {
        commit.expect.push(id_of(&id)?);
    }
    for Range { stream, from, upto, epoch } in ranges {
        let stream = stream_of(&stream)?;
        let from = from.map(JournalPosition);
        commit.ranges.push(JournalRange { stream, from, upto: JournalPosition(upto), epoch });
    }
    for pair in take_over {
        let Entry::Owner(indexer, set, epoch, owner) = entry_of(&pair, shared)? else {
            return Err(content("an owner is another entry"));
        };
        commit.take_over.push(Takeover { indexer, set, epoch, owner });
    }
    for pair in discard {
        let Entry::Discarded(path, delete_after) = entry_of(&pair, shared)? else {
            return Err(content("a garbage object is another entry"));
        };
        commit.discard.push(Discarded { path, delete_after });
    }
    Ok(Wanted::Commit(commit))
}

fn bucket_of(two: &[Pair], shared: &mut Shared) -> Result<BucketEntry, Damage> {
    let [header, summary] = two else { return Err(content("a header has no summary")) };
    let both = (entry_of(header, shared)?, entry_of(summary, shared)?);
    let (Entry::Header(header), Entry::Summary(id, summary)) = both else {
        return Err(content("a bucket is another entry"));
    };
    if header.id != id {
        return Err(content("a header has the summary of another bucket"));
    }
    Ok(header.with_summary(summary))
}

fn document_of(pair: &Pair) -> Result<NamedDocument, Damage> {
    let Some(value) = &pair.value else {
        let (kind, name) = codec::document_name(&pair.key)?;
        return Ok((kind, name, None));
    };
    match codec::decode(&pair.key, value, &mut Shared::default())? {
        Entry::Document { kind, name, json } => Ok((kind, name, Some(json))),
        _ => Err(content("a document is another entry")),
    }
}

/// Decodes a pair that has a value.
pub(crate) fn entry_of(pair: &Pair, shared: &mut Shared) -> Result<Entry, Damage> {
    let value = pair.value.as_ref().ok_or_else(|| content("the value is missing"))?;
    codec::decode(&pair.key, value, shared)
}

fn stream_of(key: &[u8]) -> Result<StreamId, Damage> {
    let value = codec::position_value(JournalPosition(0));
    match codec::decode(key, &value, &mut Shared::default())? {
        Entry::Position(stream, _) => Ok(stream),
        _ => Err(content("a stream is another entry")),
    }
}

fn set_of(key: &[u8]) -> Result<(IndexerId, u16), Damage> {
    let value = codec::owner_value(0, IndexerId(uuid::Uuid::nil()));
    match codec::decode(key, &value, &mut Shared::default())? {
        Entry::Owner(indexer, set, ..) => Ok((indexer, set)),
        _ => Err(content("a set is another entry")),
    }
}

/// Converts an error into the status of an answer.
pub(crate) fn status(error: &Error) -> Status {
    let code = match error.kind() {
        model::ErrorKind::Conflict => Code::Aborted,
        model::ErrorKind::Invalid => Code::InvalidArgument,
        model::ErrorKind::Corrupt => Code::DataLoss,
        model::ErrorKind::Unavailable => Code::Unavailable,
        _ => Code::Internal,
    };
    let details = failure(error).encode_to_vec().into();
    // The text is in an HTTP header, which is bounded; the details have everything else that is needed.
    let text: String = error.to_string().chars().take(1000).collect();
    Status::with_details(code, text, details)
}

fn failure(error: &Error) -> Failure {
    let of = |kind: FailureKind, path: &str| Failure {
        kind: kind.into(),
        path: path.to_owned(),
        ..Failure::default()
    };
    match error.clone() {
        Error::Fenced { path } => of(FailureKind::Fenced, &path),
        Error::Closed { path } => of(FailureKind::Closed, &path),
        Error::NotLeading { leader } => of(FailureKind::NotLeading, &leader),
        Error::Store { path, what, reason } | Error::Clock { path, what, reason } => {
            Failure { what: what.to_owned(), reason, ..of(FailureKind::Store, &path) }
        }
        Error::Slow { path, seconds, reason } => {
            Failure { first: seconds, reason, ..of(FailureKind::Slow, &path) }
        }
        Error::Conflict { path, id } => {
            Failure { bucket: id_bytes(id), ..of(FailureKind::Conflict, &path) }
        }
        Error::Gone { path, id } => {
            Failure { bucket: id_bytes(id), ..of(FailureKind::Gone, &path) }
        }
        Error::Overlap { path, stream, records: (first, last), known } => {
            let stream = codec::position_key(&stream).into();
            Failure { stream, first, last, known, ..of(FailureKind::Overlap, &path) }
        }
        Error::OldEpoch { path, indexer, set, epoch, known, owner } => {
            let stream = codec::owner_key(indexer, set).into();
            let owner = Bytes::copy_from_slice(owner.0.as_bytes());
            Failure { stream, first: epoch, known, owner, ..of(FailureKind::OldEpoch, &path) }
        }
        Error::Changed { path, kind, name } => {
            Failure { what: kind, reason: name, ..of(FailureKind::Changed, &path) }
        }
        Error::Invalid { path, what, reason } => {
            Failure { what, reason, ..of(FailureKind::Invalid, &path) }
        }
        Error::OtherCatalog { reason } => Failure { reason, ..of(FailureKind::OtherCatalog, "") },
        Error::Corrupt { path, key, reason } => {
            Failure { what: key, reason, ..of(FailureKind::Corrupt, &path) }
        }
        Error::Version { path, key, found, known } => {
            let (first, known) = (found.into(), known.into());
            Failure { what: key, first, known, ..of(FailureKind::Version, &path) }
        }
        other @ (Error::Held { .. }
        | Error::NoConditions { .. }
        | Error::Refused { .. }
        | Error::Unreachable { .. }) => {
            Failure { reason: other.to_string(), ..of(FailureKind::Unspecified, "") }
        }
    }
}

/// Returns the error of the leader; `None` if the status is from the connection rather than from the catalog.
pub(crate) fn error_of(status: &Status) -> Option<Error> {
    if status.details().is_empty() {
        return None;
    }
    let failure = Failure::decode(status.details()).ok()?;
    let kind = failure.kind();
    let Failure { path, what, reason, bucket, stream, first, last, known, owner, .. } = failure;
    let version = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
    Some(match kind {
        FailureKind::Unspecified => return None,
        FailureKind::Fenced => Error::Fenced { path },
        FailureKind::Closed => Error::Closed { path },
        FailureKind::NotLeading => Error::NotLeading { leader: path },
        FailureKind::Store => {
            let reason = format!("its leader cannot {what}: {reason}");
            Error::Store { path, what: "make the change", reason }
        }
        FailureKind::Slow => Error::Slow { path, seconds: first, reason },
        FailureKind::Conflict => Error::Conflict { path, id: id_of(&bucket).ok()? },
        FailureKind::Gone => Error::Gone { path, id: id_of(&bucket).ok()? },
        FailureKind::Overlap => {
            let stream = Box::new(stream_of(&stream).ok()?);
            Error::Overlap { path, stream, records: (first, last), known }
        }
        FailureKind::OldEpoch => {
            let (indexer, set) = set_of(&stream).ok()?;
            let owner = IndexerId(uuid_of(&owner).ok()?);
            Error::OldEpoch { path, indexer, set, epoch: first, known, owner }
        }
        FailureKind::Changed => Error::Changed { path, kind: what, name: reason },
        FailureKind::OtherCatalog => Error::OtherCatalog { reason },
        FailureKind::Invalid => Error::Invalid { path, what, reason },
        FailureKind::Corrupt => Error::Corrupt { path, key: what, reason },
        FailureKind::Version => {
            Error::Version { path, key: what, found: version(first), known: version(known) }
        }
    })
}

#[cfg(test)]
mod tests;
