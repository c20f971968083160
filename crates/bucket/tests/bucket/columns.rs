//! Columns of any shape are read as written, in whatever encodings they got, whole and by granules.

use bucket::{GranuleSet, WriteOptions};
use proptest::prelude::*;

use crate::support::{Pairs, lines, open, rows, small, texts, written};

/// How the values of a field are drawn.
#[derive(Debug, Clone, Copy)]
enum Values {
    Any,
    Near,
    Few,
    Long,
    Unique,
    Several,
}

/// The values that a row has.
fn draw(values: Values, at: usize, noise: u64) -> Vec<String> {
    match values {
        Values::Any => {
            vec![[noise as i64, i64::MIN, i64::MAX, 0][noise as usize % 7 % 4].to_string()]
        }
        Values::Near => vec![(1_000_000 + at as i64 * 3 - (noise % 5) as i64).to_string()],
        Values::Few => vec![["GET", "POST", "x"][noise as usize % 11 % 3].to_owned()],
        Values::Long => vec!["long-".repeat(noise as usize % 90 + 1)],
        Values::Unique => vec![format!("u{at}-{noise:x}")],
        Values::Several => (0..noise % 4).map(|n| format!("v{}", noise % 7 * n)).collect(),
    }
}

fn noise(seed: u64, at: usize) -> u64 {
    let mut z = seed.wrapping_add((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn shapes() -> impl Strategy<Value = Vec<(Values, u64)>> {
    use Values::{Any, Few, Long, Near, Several, Unique};
    let values = prop::sample::select(vec![Any, Near, Few, Long, Unique, Several]);
    // One row in so many has the field.
    let sparse = prop::sample::select(vec![1u64, 1, 2, 40]);
    prop::collection::vec((values, sparse), 1..5)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn columns_are_read_as_written(
        shapes in shapes(),
        seed: u64,
        count in 1usize..900,
        chosen in prop::collection::vec(any::<bool>(), 15),
    ) {
        let value = |field: usize, at: usize| {
            let (values, sparse) = shapes[field];
            let noise = noise(seed ^ (field as u64 * 7919), at);
            let has = sparse == 1 || (noise >> 20).is_multiple_of(sparse);
            if has { draw(values, at, noise) } else { Vec::new() }
        };
        let line = |at: usize| {
            let pair = |field: usize| {
                value(field, at).into_iter().map(move |value| format!("f{field}={value} "))
            };
            (0..shapes.len()).flat_map(pair).collect::<String>()
        };
        let options = WriteOptions { unique_text_columns: true, ..small() };
        let bucket = written(&lines((0..count).map(line)), &Pairs, &options);
        block_on(async {
            let reader = open(&bucket).await;
            let mut some = GranuleSet::none(reader.granules());
            (0..reader.granules()).filter(|at| chosen[*at]).for_each(|at| some.insert(at));
            for granules in [GranuleSet::all(reader.granules()), some] {
                for (field, shape) in shapes.iter().enumerate() {
                    let name = format!("f{field}");
                    if reader.schema().index_of(&name).is_err() {
                        continue;
                    }
                    let found = texts(&rows(&reader, &[&name], &granules).await, 0);
                    let expected: Vec<Option<String>> = (0..count)
                        .filter(|at| granules.contains(at / 64))
                        .map(|at| value(field, at))
                        .map(|values| (!values.is_empty()).then(|| values.join("|")))
                        .collect();
                    assert_eq!(found, expected, "{shape:?}");
                }
            }
        });
    }
}
