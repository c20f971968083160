//! The size of plans: what is computed of what is computed makes a plan larger step by step, not twice as
//! large with each step.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use karst_spectest::{Memory, World};
use parking_lot::Mutex;
use plan::{Session, SessionSettings, Stage, Subsearches, Watch, execute_watched, plan_search};

/// Pipelines of so many steps, each of which reads twice what the one before has computed.
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
        // Twice: what is joined at the end may be of all steps.
        if late > 2 * early {
            faults.push(format!("{name}: {sizes:?}"));
        }
    }
    assert!(faults.is_empty(), "with 4, 8 and 12 steps:\n{}", faults.join("\n"));
}

/// As the threads of the server that plan have.
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

/// Operators and steps of expressions of all plans that a search runs.
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
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: Option<&Stage>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
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
