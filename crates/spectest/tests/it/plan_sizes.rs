//! The size of plans: a chain of computed fields makes a plan grow linearly with its steps, not
//! exponentially.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use karst_spectest::{Memory, World};
use parking_lot::Mutex;
use plan::{PlanOf, Session, SessionSettings, Subsearches, Watch, execute_watched, plan_search};

/// A pipeline with a given number of steps, each of which reads the result of the previous one twice.
type Chain = (&'static str, fn(usize) -> String);

const CHAINS: &[Chain] = &[
    ("evals", |steps| [" | eval a=a.a"].repeat(steps).concat()),
    ("assignments of one eval", |steps| format!(" | eval {}", vec!["a=a.a"; steps].join(","))),
    ("evals that read two fields", |steps| {
        [" | eval a=if(a=b,a,b), b=if(b=a,b,a)"].repeat(steps).concat()
    }),
    ("a filter above evals", |steps| {
        [" | eval a=a.a"].repeat(steps).concat() + " | where a!=\"\" | search a=*x*"
    }),
    ("a filter after each eval", |steps| [" | eval a=a.a | where a!=\"\""].repeat(steps).concat()),
    ("a search after each eval", |steps| [" | eval a=a.a | search a=*x*"].repeat(steps).concat()),
    ("the first rows in their order", |steps| {
        [" | eval a=a.a"].repeat(steps).concat() + " | sort 3 a"
    }),
    ("the first rows below filters", |steps| {
        [" | eval a=a.a | where a!=\"\""].repeat(steps).concat() + " | sort 3 a | head 2"
    }),
    ("groups", |steps| {
        [" | eval a=a.a | where a!=\"\""].repeat(steps).concat() + " | stats count by a"
    }),
    ("groups of groups", |steps| {
        [" | eval a=a.a | stats count by a | where a!=\"\""].repeat(steps).concat()
    }),
    ("fields of other rows", |steps| {
        [" | eventstats max(a) as m | eval a=substr(m.m.a,1,50) | where a!=\"\""]
            .repeat(steps)
            .concat()
    }),
    ("replaced texts", |steps| {
        [" | eval a=replace(a,a,a) | where len(a)>0"].repeat(steps).concat() + " | dedup a"
    }),
];

#[tokio::test]
async fn plans_grow_with_the_steps_of_a_search() {
    let world = World::read(Path::new("corpus/world.spec"), &Memory::Whole).await.expect("a world");
    let mut faults = Vec::new();
    for (name, chain) in CHAINS {
        let mut sizes = Vec::new();
        for steps in [4, 8, 12] {
            let text = format!("search index=* | eval a=_raw, b=source{}", chain(steps));
            sizes.push(size(&text, &world).await.expect("a plan"));
        }
        let (early, late) = (sizes[1] - sizes[0], sizes[2] - sizes[1]);
        println!("{name}: {sizes:?}");
        // A factor of two is allowed, because the last join may include all steps.
        if late > 2 * early {
            faults.push(format!("{name}: {sizes:?}"));
        }
    }
    assert!(faults.is_empty(), "with 4, 8 and 12 steps:\n{}", faults.join("\n"));
}

/// Writes the configuration of a source type.
type Stanza = (&'static str, fn(usize) -> String);

/// Objects that set the fields read by a filter, for many source types; the last ones read each other.
const STANZAS: &[Stanza] = &[
    ("calculated fields", |n| format!("EVAL-status = if(a={n}, status, \"7\")")),
    ("lookups", |_| "LOOKUP-status = codes.csv k OUTPUT status".to_owned()),
    ("lookups that keep values", |_| "LOOKUP-status = codes.csv k OUTPUTNEW status".to_owned()),
    ("lookups of different fields", |n| {
        format!("LOOKUP-status = codes.csv k AS k{n} OUTPUT status AS status{n}, status")
    }),
    ("lookups that read a calculated field", |n| {
        format!(
            "EVAL-other = if(a={n}, status, \"7\")\n  LOOKUP-1 = codes.csv other OUTPUTNEW status\n  \
             LOOKUP-2 = codes.csv k OUTPUTNEW status"
        )
    }),
    ("lookups that read each other's fields, of classes of their own", |n| {
        format!(
            "LOOKUP-{n}a = codes.csv k OUTPUT other\n  LOOKUP-{n}b = codes.csv other OUTPUT status\n  \
             LOOKUP-{n}c = codes.csv status OUTPUT other"
        )
    }),
    ("lookups of patterns", |n| {
        format!(
            "LOOKUP-status = codes.csv k OUTPUT status\n  [source::*.{n}.log]\n  \
             LOOKUP-1 = codes.csv k OUTPUT other"
        )
    }),
];

#[tokio::test]
async fn plans_grow_with_the_objects_of_a_configuration() {
    let mut faults = Vec::new();
    for (name, stanza) in STANZAS {
        let mut sizes = Vec::new();
        for count in [200, 400, 600] {
            let world =
                World::of(&with_stanzas(count, *stanza), &Memory::Whole).await.expect("a world");
            let text = "search index=* status=7 other!=z | stats count by status, other";
            sizes.push(size(text, &world).await.expect("a plan"));
        }
        let early = sizes[1].saturating_sub(sizes[0]);
        let late = sizes[2].saturating_sub(sizes[1]);
        println!("{name}: {sizes:?}");
        if late > early + early / 4 {
            faults.push(format!("{name}: {sizes:?}"));
        }
    }
    assert!(faults.is_empty(), "with 200, 400 and 600 source types:\n{}", faults.join("\n"));
}

#[tokio::test]
async fn plans_do_not_grow_with_objects_of_source_types_that_no_event_has() {
    for (name, stanza) in STANZAS.iter().filter(|(name, _)| !name.contains("patterns")) {
        let mut sizes = Vec::new();
        for absent in [0, 100] {
            let stanzas = (0..absent).map(|n| format!("  [absent{n}]\n  {}\n", stanza(n)));
            let text = with_stanzas(5, *stanza);
            let text = text
                .replace("conf props\n", &format!("conf props\n{}", stanzas.collect::<String>()));
            let world = World::of(&text, &Memory::Whole).await.expect("a world");
            sizes
                .push(size("search index=* status=7 | stats count", &world).await.expect("a plan"));
        }
        assert_eq!(sizes[0], sizes[1], "{name}");
    }
}

/// A spec with `count` source types, with one event and one stanza each.
fn with_stanzas(count: usize, stanza: fn(usize) -> String) -> String {
    let mut text = "# Many stanzas.\nrows\n  sourcetype  k  a  status\n".to_owned();
    (0..count).for_each(|n| text += &format!("  type{n}  1  {n}  7\n"));
    text += "conf props\n";
    (0..count).for_each(|n| text += &format!("  [type{n}]\n  {}\n", stanza(n)));
    text + "lookup codes.csv\n  k,other,status\n  1,x,7\nsearch *\nexpect\n  k\n  1\n"
}

/// Stack size of the threads that plan searches in the server.
const STACK: usize = 128 << 20;

#[test]
fn ten_thousand_conditions_are_planned_and_run() {
    let terms = |count: usize, by: &str, term: fn(usize) -> String| {
        (0..count).map(term).collect::<Vec<_>>().join(by)
    };
    let count = 10_000;
    let searches = [
        format!("search index=* {}", terms(count, " ", |n| format!("NOT w{n}"))),
        format!("search index=* {}", terms(count, " ", |n| format!("x!=v{n}"))),
        format!("search index=* NOT ({})", terms(count, " OR ", |n| format!("w{n}"))),
        format!(
            "search index=* | where {}",
            terms(count, " AND ", |n| format!("source!=\"v{n}\""))
        ),
        format!("search index=* {}", terms(400, " ", |n| format!("| where source!=\"v{n}\""))),
    ];
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let file = Path::new("corpus/world.spec");
            let world = World::read(file, &Memory::Whole).await.expect("a world");
            for search in searches {
                let rows = world
                    .run(&search)
                    .await
                    .map_err(|error| error[..200.min(error.len())].to_owned());
                println!("{} {rows:?}", &search[..40]);
                assert!(rows.is_ok(), "{} ...: {rows:?}", &search[..60]);
            }
        });
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    thread.join().expect("no search fails");
}

/// Number of operators and expression nodes of all plans of a search.
async fn size(text: &str, world: &World) -> std::result::Result<usize, plan::Error> {
    let session = Session::new(&SessionSettings::default(), Vec::new())?;
    let planned = plan_search(text, world.context(), Subsearches::Run(&session)).await?;
    let watch = Sizes(Mutex::new(0));
    execute_watched(&planned, &session, Some(&watch), &mut |_, _| ControlFlow::Break(())).await?;
    let size = *watch.0.lock();
    Ok(size)
}

#[derive(Debug)]
struct Sizes(Mutex<usize>);

impl Watch for Sizes {
    fn runs(&self, plan: Arc<dyn ExecutionPlan>, _: PlanOf<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut size = 0;
        plan.apply(|node| {
            size += 1;
            node.apply_expressions(&mut |expr| {
                expr.apply(|_| {
                    size += 1;
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        *self.0.lock() += size;
        Ok(plan)
    }
}
