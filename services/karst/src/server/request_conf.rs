//! The memory budget of requests, from `server.conf`.

use std::time::Duration;

use anyhow::Result;
use conf::{Layers, Type};
use runtime::Budget;

/// Maximum default.
const MOST: usize = 1 << 30;

/// Minimum: below it no ordinary request would fit.
const LEAST: usize = 16 << 20;

conf::settings! {
    /// Memory of requests.
    #[derive(Debug)]
    pub(super) struct Requests {
        "server"["httpServer"] {
            /// Maximum memory of all requests together for their bodies: compressed, decompressed and
            /// decoded. Default: an eighth of the machine's memory, from 16MB to 1GB.
            "maxRequestMemory" => memory: Option<usize> = "", Type::size(LEAST as u64);
            /// Time that a request waits for memory held by other requests before it is answered with 503.
            "requestMemoryWaitSecs" => wait: Duration = "5", Type::seconds(0);
        }
    }
}

/// The effective budget. `share`: bytes in place of the default, from the limit of the process.
pub(super) fn budget(layers: &Layers, share: Option<usize>) -> Result<Budget> {
    let eighth = runtime::process::memory().and_then(|bytes| usize::try_from(bytes / 8).ok());
    let usual = share.or(eighth).unwrap_or(MOST).clamp(LEAST, MOST);
    let requests = Requests::read(layers)?;
    Ok(Budget::new(requests.memory.unwrap_or(usual), requests.wait))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    #[test]
    fn the_budget_is_what_the_file_says_and_else_a_part_of_the_memory() {
        let conf = "[httpServer]\nmaxRequestMemory = 64MB";
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        assert_eq!(budget(&layers, None).unwrap().capacity(), 64 << 20);
        let default = budget(&Layers::builtin(), None).unwrap().capacity();
        assert!((LEAST..=MOST).contains(&default), "{default}");
    }

    #[test]
    fn a_budget_that_no_request_fits_in_is_refused() {
        let conf = "[httpServer]\nmaxRequestMemory = 1KB";
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        assert!(budget(&layers, None).unwrap_err().to_string().contains("maxRequestMemory"));
    }
}
