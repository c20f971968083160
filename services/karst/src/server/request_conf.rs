//! The memory budget of requests, from `server.conf`.

use std::time::Duration;

use anyhow::Result;
use knowledge::layers::Layers;
use runtime::Budget;

use super::conf::{self, Key, key, seconds, size};

/// Maximum default.
const MOST: usize = 1 << 30;

/// Minimum: below it no ordinary request would fit.
const LEAST: usize = 16 << 20;

#[derive(Debug)]
struct Requests {
    memory: usize,
    wait: Duration,
}

const KEYS: &[Key<Requests>] = &[
    key("server", "httpServer", "maxRequestMemory", |to, text| {
        to.memory = usize::try_from(size(text)?).ok().filter(|bytes| *bytes >= LEAST)?;
        Some(())
    }),
    key("server", "httpServer", "requestMemoryWaitSecs", |to, text| {
        to.wait = seconds(text)?;
        Some(())
    }),
];

/// The effective budget.
pub(super) fn budget(layers: &Layers) -> Result<Budget> {
    let eighth = runtime::process::memory().and_then(|bytes| usize::try_from(bytes / 8).ok());
    let memory = eighth.unwrap_or(MOST).clamp(LEAST, MOST);
    let mut requests = Requests { memory, wait: Duration::from_secs(5) };
    conf::apply(KEYS, layers, &mut requests)?;
    Ok(Budget::new(requests.memory, requests.wait))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use knowledge::layers::Layer;

    use super::*;

    #[test]
    fn the_budget_is_what_the_file_says_and_else_a_part_of_the_memory() {
        let conf = "[httpServer]\nmaxRequestMemory = 64MB";
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        assert_eq!(budget(&layers).unwrap().capacity(), 64 << 20);
        let default = budget(&Layers::builtin()).unwrap().capacity();
        assert!((LEAST..=MOST).contains(&default), "{default}");
    }

    #[test]
    fn a_budget_that_no_request_fits_in_is_refused() {
        let conf = "[httpServer]\nmaxRequestMemory = 1KB";
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        assert!(budget(&layers).unwrap_err().to_string().contains("maxRequestMemory"));
    }

    #[test]
    fn every_key_is_known_to_the_registry() {
        for key in KEYS {
            let known = knowledge::registry::find(key.conf, key.name);
            assert!(known.is_some_and(|setting| setting.honoured), "{}", key.name);
        }
    }
}
