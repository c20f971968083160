//! Bodies of requests, read and unpacked within limits and within the memory that all requests share.
//!
//! Memory is taken from the budget as it is used: a request that sends nothing takes nothing. The share
//! belongs to the bytes; it is given back when the last copy of them is dropped.

use std::fmt;

use apps::{Apps, Archive};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt;
use inputs::body::{BodyError, Unpacker};
use runtime::{Budget, OverBudget, Share};

use crate::error::RestError;
use crate::work::work;

/// Most bytes that are unpacked at a time.
const STEP: usize = 1 << 20;

/// Bytes that are written to the local disk at a time.
const PART: usize = 256 << 10;

/// Minimum capacity of a buffer, if that number of bytes is expected.
const LEAST: usize = 4 << 10;

/// Limits of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimits {
    /// Bytes, packed and unpacked.
    pub(crate) bytes: usize,
    /// Maximum ratio of a body's decompressed to its compressed size.
    pub(crate) ratio: usize,
}

/// Checks a body while it grows, and may end it.
pub(crate) trait Watch: Send {
    /// All bytes so far.
    fn look(&mut self, bytes: &[u8]) -> Result<(), BodyError>;
}

/// Takes every body as it is.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    fn look(&mut self, _: &[u8]) -> Result<(), BodyError> {
        Ok(())
    }
}

/// Bytes with the share of memory that they take.
struct Held {
    bytes: Vec<u8>,
    share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Held {
    fn new(budget: &Budget) -> Self {
        Self { bytes: Vec::new(), share: budget.share() }
    }

    /// Reserves space for this number of further bytes, and for more if more is `expected`, but never more
    /// than twice the current size: an announced length allocates no memory, however many requests announce
    /// one.
    async fn reserve(&mut self, more: usize, expected: usize) -> Result<(), OverBudget> {
        let needed = self.bytes.len().saturating_add(more);
        let old = self.bytes.capacity();
        if needed <= old {
            return Ok(());
        }
        let doubled = needed.saturating_mul(2).max(LEAST);
        let capacity = if expected >= needed { expected.min(doubled) } else { doubled };
        // Both the old and the new buffer exist while one is copied into the other.
        self.share.grow(capacity).await?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        self.share.shrink_to(capacity);
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

/// Reads a body as it came.
pub(crate) async fn read(
    budget: &Budget,
    body: Body,
    limit: usize,
    watch: &mut dyn Watch,
) -> Result<Bytes, BodyError> {
    let too_large = || BodyError::TooLarge { limit };
    let promised = HttpBody::size_hint(&body).exact();
    let promised = promised.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    if promised > limit {
        return Err(too_large());
    }
    let mut held = Held::new(budget);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| BodyError::Incomplete { reason: error.to_string() })?;
        if held.bytes.len() + piece.len() > limit {
            return Err(too_large());
        }
        held.reserve(piece.len(), promised).await?;
        held.bytes.extend_from_slice(&piece);
        watch.look(&held.bytes)?;
    }
    Ok(held.into_bytes())
}

/// Why a body is not written to the local disk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSpooled {
    /// It is too large or incomplete.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The disk does not take it.
    #[error(transparent)]
    Disk(#[from] apps::Error),
}

/// Writes a body with an archive of apps to the local disk as it came: in memory, archives of hundreds of
/// megabytes would leave gaps that the allocator keeps.
pub(crate) async fn spool(apps: &Apps, body: Body, limit: usize) -> Result<Archive, NotSpooled> {
    let too_large = || BodyError::TooLarge { limit };
    let promised = HttpBody::size_hint(&body).exact();
    if promised.is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_large().into());
    }
    let mut spool = apps.spool().await?;
    let (mut part, mut size) = (Vec::new(), 0);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| BodyError::Incomplete { reason: error.to_string() })?;
        size += piece.len();
        if size > limit {
            return Err(too_large().into());
        }
        part.extend_from_slice(&piece);
        if part.len() >= PART {
            (spool, part) = spool.append(part).await?;
        }
    }
    // A body ends early, without an error, if the server gives its connection up.
    if let Some(promised) = promised.filter(|bytes| *bytes != size as u64) {
        let reason = format!("it has {size} of {promised} bytes");
        return Err(BodyError::Incomplete { reason }.into());
    }
    (spool, _) = spool.append(part).await?;
    Ok(spool.finish())
}

/// Reads a body and decompresses it according to its headers.
pub(crate) async fn read_unpacked(
    budget: &Budget,
    headers: &HeaderMap,
    body: Body,
    limits: BodyLimits,
    watch: &mut dyn Watch,
) -> Result<Bytes, BodyError> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let encoding = encoding.unwrap_or_default().trim();
    if encoding.is_empty() || encoding.eq_ignore_ascii_case("identity") {
        return read(budget, body, limits.bytes, watch).await;
    }
    let packed = read(budget, body, limits.bytes, &mut Unwatched).await?;
    unpack(budget, &packed, encoding, limits, watch).await
}

/// Unpacks a body.
pub(crate) async fn unpack(
    budget: &Budget,
    packed: &Bytes,
    encoding: &str,
    limits: BodyLimits,
    watch: &mut dyn Watch,
) -> Result<Bytes, BodyError> {
    let Some(mut unpacker) = Unpacker::new(packed, encoding)? else { return Ok(packed.clone()) };
    unpacker.check(0, limits.bytes, limits.ratio)?;
    let mut held = Held::new(budget);
    let expected = unpacker.first_capacity().min(limits.bytes.saturating_add(1));
    loop {
        held.reserve(1, expected).await?;
        if work(packed.len(), || unpacker.step(&mut held.bytes, STEP))? == 0 {
            return Ok(held.into_bytes());
        }
        unpacker.check(held.bytes.len(), limits.bytes, limits.ratio)?;
        watch.look(&held.bytes)?;
    }
}

/// The HTTP status of a body that is not taken.
pub(crate) fn status(error: &BodyError) -> StatusCode {
    match error {
        BodyError::Memory(OverBudget::Busy { .. }) => StatusCode::SERVICE_UNAVAILABLE,
        BodyError::TooLarge { .. }
        | BodyError::Ratio { .. }
        | BodyError::Event { .. }
        | BodyError::Line { .. }
        | BodyError::Memory(OverBudget::TooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Broken { .. } | BodyError::Incomplete { .. } => StatusCode::BAD_REQUEST,
        BodyError::Unsupported { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
    }
}

/// The body as it came.
#[derive(Debug, Clone)]
pub(crate) struct RawBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequestParts<S> for RawBody {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self(Bytes::new())))
    }
}

/// The archive of apps that is the body of a request, on the local disk.
#[derive(Debug, Clone)]
pub(crate) struct Spooled(pub(crate) Archive);

impl<S: Send + Sync> FromRequestParts<S> for Spooled {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        let spooled = parts.extensions.remove::<Self>();
        spooled.ok_or_else(|| RestError::invalid("the body is not an archive of apps"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits { bytes: 8 << 20, ratio: 64 };

    #[tokio::test]
    async fn a_body_holds_its_memory_until_the_last_copy_is_gone() {
        let budget = budget(1 << 20);
        let body = read(&budget, Body::from(vec![b'x'; 10_000]), 1 << 20, &mut Unwatched).await;
        let copy = body.unwrap().slice(..1);
        assert!(budget.used() >= 10_000, "{}", budget.used());
        drop(copy);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn bodies_that_together_are_more_than_the_budget_wait_and_are_refused() {
        let budget = budget(9 << 18);
        let body = || Body::from(vec![b'x'; 1 << 20]);
        let first = read(&budget, body(), 1 << 20, &mut Unwatched).await.unwrap();
        let second = read(&budget, body(), 1 << 20, &mut Unwatched).await.unwrap();
        let third = read(&budget, body(), 1 << 20, &mut Unwatched).await.unwrap_err();
        assert_eq!(status(&third), StatusCode::SERVICE_UNAVAILABLE);
        drop((first, second));
        assert!(read(&budget, body(), 1 << 20, &mut Unwatched).await.is_ok());
    }

    #[tokio::test]
    async fn a_promise_takes_no_memory() {
        let budget = budget(1 << 30);
        let stream = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"x"))]);
        let mut seen = 0;
        struct Used<'a>(&'a Budget, &'a mut usize);
        impl Watch for Used<'_> {
            fn look(&mut self, _: &[u8]) -> Result<(), BodyError> {
                *self.1 = self.0.used();
                Ok(())
            }
        }
        let body = Body::from_stream(stream);
        read(&budget, body, 1 << 29, &mut Used(&budget, &mut seen)).await.unwrap();
        assert!(seen <= STEP, "{seen}");
    }

    #[tokio::test]
    async fn what_is_promised_takes_at_most_twice_what_has_come() {
        let budget = budget(1 << 30);
        let mut held = Held::new(&budget);
        for (come, promised, most) in [(10, 1 << 20, LEAST), (9_000, 1 << 20, 20_000)] {
            held.reserve(come, promised).await.unwrap();
            held.bytes.resize(held.bytes.len() + come, 0);
            assert!(budget.used() <= most, "{} after {come}", budget.used());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_unpacked_body_counts_and_a_bomb_is_refused() {
        let budget = budget(64 << 20);
        let packed = gzip(&[b'x'; 100_000]);
        let unpacked = unpack(&budget, &packed, "gzip", LIMITS, &mut Unwatched).await.unwrap();
        assert_eq!(unpacked.len(), 100_000);
        assert!((100_000..200_000).contains(&budget.used()), "{}", budget.used());
        drop(unpacked);
        let bomb = [gzip(&vec![0; 9 << 20]), gzip(b"x")].concat().into();
        let refused = unpack(&budget, &bomb, "gzip", LIMITS, &mut Unwatched).await.unwrap_err();
        assert_eq!(status(&refused), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(budget.used(), 0);
    }

    fn budget(bytes: usize) -> Budget {
        Budget::new(bytes, Duration::from_millis(20))
    }

    fn gzip(text: &[u8]) -> Bytes {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap().into()
    }
}
