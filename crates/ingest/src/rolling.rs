//! Rolling on request: the request is answered even if uploads make no progress.

use std::time::{Duration, Instant};

use catalog::Catalog;
use model::IndexName;

use crate::{Error, Ingest};

/// Interval of checking whether rolled buckets get into object storage.
const CHECK: Duration = Duration::from_secs(1);
/// Time without an upload after which a request is answered, if uploads fail.
const FAILING: Duration = Duration::from_secs(20);
/// The same if no failure is known: a large bucket may be under way. Also the time after which a request is
/// answered while some bucket fails, whatever becomes of the others.
const SILENT: Duration = Duration::from_secs(300);

impl Ingest {
    /// Rolls the hot buckets of an index in this process, and waits until they are in object storage, or
    /// until uploads have made no progress for too long; then the buckets are uploaded later.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Fenced`], [`Error::NotRolled`].
    pub async fn roll_unless_stuck(
        &self,
        index: &IndexName,
        catalog: &Catalog,
    ) -> Result<(), Error> {
        let mut rolling = Box::pin(self.roll_all(Some(index)));
        let (mut committed, mut since) = (self.status().uploads.committed, Instant::now());
        let mut failing_since: Option<Instant> = None;
        loop {
            if let Ok(rolled) = tokio::time::timeout(CHECK, &mut rolling).await {
                return rolled;
            }
            let uploads = self.status().uploads;
            if uploads.committed != committed {
                (committed, since) = (uploads.committed, Instant::now());
            }
            let stalled = || catalog.stalled().map(|stalled| stalled.to_string());
            let failure = uploads.last_error.or_else(stalled);
            failing_since = failure.as_ref().map(|_| failing_since.unwrap_or_else(Instant::now));
            let failing = failing_since.map_or(Duration::ZERO, |begun| begun.elapsed());
            if let Some(reason) = not_rolled(failure, since.elapsed(), failing) {
                return Err(Error::NotRolled { reason });
            }
        }
    }
}

/// Returns the answer to a request after this time without an upload, and this time in which some bucket
/// failed; `None` if the request still waits.
fn not_rolled(failure: Option<String>, silent: Duration, failing: Duration) -> Option<String> {
    let most = if failure.is_some() { FAILING } else { SILENT };
    let (which, waited) = if silent >= most {
        ("no bucket has", silent)
    } else if failing >= SILENT {
        ("some buckets have not", failing)
    } else {
        return None;
    };
    let seconds = waited.as_secs();
    let reason = failure.unwrap_or_else(|| "the cause is not known".to_owned());
    Some(format!(
        "{which} got into object storage for {seconds} s: {reason}; the buckets wait, and are uploaded as \
         soon as that is possible"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(failure: Option<&str>, silent: u64, failing: u64) -> Option<String> {
        let (silent, failing) = (Duration::from_secs(silent), Duration::from_secs(failing));
        not_rolled(failure.map(str::to_owned), silent, failing)
    }

    #[test]
    fn a_request_to_roll_hot_buckets_is_answered_though_nothing_is_uploaded() {
        assert_eq!(after(Some("403 Forbidden"), 19, 19), None);
        let told = after(Some("403 Forbidden"), 20, 20).unwrap_or_default();
        assert!(told.contains("for 20 s: 403 Forbidden;"), "{told}");
        assert_eq!(after(None, 299, 0), None, "a large bucket may be under way");
        assert!(after(None, 300, 0).is_some());
    }

    #[test]
    fn a_bucket_that_fails_ends_the_request_though_others_are_uploaded() {
        assert_eq!(after(Some("the object exists"), 2, 299), None);
        let told = after(Some("the object exists"), 2, 300).unwrap_or_default();
        assert!(told.starts_with("some buckets have not got"), "{told}");
        assert!(told.contains("for 300 s: the object exists;"), "{told}");
    }
}
