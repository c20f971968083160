//! Measures the planning time: `cargo run -p karst-spectest --example planning` from this crate's
//! directory.
//!
//! Every search of the corpus is parsed, planned and optimized seven times, up to the first plan that would
//! run; the median counts. Subsearches are not run, because that is not planning. Prints the median and the
//! slowest search with their limits.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use karst_spectest::{CorpusSearch, Memory, World, corpus};
use parking_lot::Mutex;
use plan::{PlanOf, Session, SessionSettings, Subsearches, Watch, execute_watched, plan_search};

/// Number of times that each search is planned.
const ROUNDS: usize = 7;

#[tokio::main]
async fn main() -> ExitCode {
    match measure().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}

async fn measure() -> Result<(), String> {
    let searches = corpus(Path::new("corpus"))?;
    let world = World::read(Path::new("corpus/world.spec"), &Memory::Whole).await?;
    let session = Session::new(&SessionSettings::default(), Vec::new());
    let session = session.map_err(|error| error.to_string())?;
    let mut found: Vec<(Duration, &CorpusSearch)> = Vec::new();
    let mut refused = 0;
    for search in &searches {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            times.extend(planning(&search.text, &world, &session).await);
        }
        // A few searches of the corpus are refused and have no plan.
        if times.len() < ROUNDS {
            refused += 1;
            continue;
        }
        times.sort_unstable();
        found.push((times[ROUNDS / 2], search));
    }
    found.sort_by_key(|(time, _)| *time);
    let (Some(median), Some(worst)) = (found.get(found.len() / 2), found.last()) else {
        return Err("there are no searches in the corpus".to_owned());
    };
    println!("{} searches, {ROUNDS} times each; {refused} are refused", found.len());
    println!("median {:>9.2?}   bar   5 ms", median.0);
    println!("worst  {:>9.2?}   bar  50 ms   {}", worst.0, worst.1.place);
    Ok(())
}

/// The time to the first plan; `None` for a search that is refused.
async fn planning(text: &str, world: &World, session: &Session) -> Option<Duration> {
    let start = Instant::now();
    let planned = plan_search(text, world.context(), Subsearches::Skip).await;
    let planned = planned.ok()?;
    let watch = FirstPlan(Mutex::new(None));
    // The rows are not needed: the first batch ends the search.
    let ran =
        execute_watched(&planned, session, Some(&watch), &mut |_, _| ControlFlow::Break(())).await;
    drop(ran);
    let first = *watch.0.lock();
    Some(first.unwrap_or_else(Instant::now) - start)
}

/// The time at which the first plan was ready.
#[derive(Debug)]
struct FirstPlan(Mutex<Option<Instant>>);

impl Watch for FirstPlan {
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: PlanOf<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        self.0.lock().get_or_insert_with(Instant::now);
        Ok(plan)
    }
}
