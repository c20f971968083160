//! Panics of searches.
//!
//! Guarantee: a search whose code panics ends with an error. Without this, its job would run for ever, and
//! the rows so far would look like all rows.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::Error;

/// Runs the work of a search; a panic becomes [`Error::Internal`]. Nothing of the work is used after it.
pub(crate) async fn caught<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let caught = AssertUnwindSafe(work).catch_unwind().await;
    caught.unwrap_or_else(|panic| Err(Error::Internal(text(panic.as_ref()))))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "the search has stopped because of a defect of Karst ({}); the log of the server names the place",
        message.unwrap_or("no message")
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_message() {
        assert_eq!(caught(async { Ok(1) }).await.unwrap(), 1);
        let number = 7;
        let of = |work| async { caught::<()>(work).await.unwrap_err().to_string() };
        let text = of(Box::pin(async move { panic!("row {number}") })).await;
        assert!(text.contains("internal error: ") && text.contains("(row 7)"), "{text}");
    }
}
