//! Charts over more rows and series than a stage may hold have the same series as others. Tested with random
//! events.

use std::fmt::Write;

use karst_spectest::{Memory, World};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::held_rows::run;

const WORLDS: u64 = 8;
const EVENTS: usize = 200;
const USERS: usize = 30;

/// Charts, each with the number of rows that a stage may hold: more than the chart has cells, fewer than it
/// has with all series.
const CHARTS: &[(&str, usize)] = &[
    ("timechart span=10s limit=3 count by user", 120),
    ("timechart span=10s limit=3 avg(size) by user", 120),
    ("timechart span=10s limit=2 useother=f sum(size) by user", 120),
    ("timechart span=10s limit=2 usenull=f dc(path) by user", 120),
    ("timechart span=10s limit=2 count range(size) by user", 120),
    // Eighths add up exactly: OTHER is a sum of rates in one way, and a rate of a sum in the other.
    ("timechart span=8s limit=2 per_second(size) by user", 140),
    ("timechart span=10s limit=bottom2 p90(size) by user", 120),
    ("timechart span=10s count by user where count in top2", 120),
    ("timechart span=10s count by user where count > 12", 120),
    ("timechart span=10s limit=3 count(path) avg(size) by user", 120),
    ("timechart span=10s limit=3 sum(eval(if(size>40,0,null()))) as s by user", 120),
    ("timechart span=10s limit=3 agg=max count by user", 120),
    ("chart limit=3 stdev(size) over path by user", 40),
    ("chart limit=1 useother=f count over host by user", 40),
];

fn events(seed: u64) -> String {
    let mut random = StdRng::seed_from_u64(seed);
    let mut text = "# At random.\nrows\n  n host user path size\n".to_owned();
    for n in 0..EVENTS {
        let mut upto = |end: usize| random.random_range(0..end);
        // Some users have more events than others.
        let user = match (upto(20), upto(USERS), upto(USERS)) {
            (0, ..) => "-".to_owned(),
            (1, ..) => "NULL".to_owned(),
            (_, one, two) => format!("u{}", one.min(two)),
        };
        let (host, path, size) = (upto(2), upto(4), upto(50));
        writeln!(text, "  {n} h{host} {user} /p{path} {size}").expect("text");
    }
    text + "search *\nexpect\n  n\n  1\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_of_many_series_is_that_of_its_largest_ones() {
    let mut ranked = 0;
    for seed in 0..WORLDS {
        let world = World::of(&events(seed), &Memory::Whole).await.expect("a world");
        for (chart, stage_rows) in CHARTS {
            let search = format!("search * | {chart}");
            let (rows, _) = run(&search, world.context()).await;
            let mut context = world.context().clone();
            context.limits.stage_rows = *stage_rows;
            let (few, stages) = run(&search, &context).await;
            assert_eq!(few, rows, "seed {seed}: {chart}");
            ranked += usize::from(stages.iter().any(|fields| fields == &["__series", "__score"]));
        }
    }
    assert!(ranked > 60, "the engine ranked the series of {ranked} charts");
}
