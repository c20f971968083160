//! The nearest known name to a misspelt one.
//!
//! Guarantees: bounded time whatever the length of the input.

/// Longer words get no suggestion.
const LONGEST: usize = 40;
/// What a letter too many, missing or wrong costs.
const EDIT: usize = 2;
/// What two neighbours in the wrong order cost: the slip that fingers make most.
const SWAP: usize = 1;

/// The candidate with the least costly edits, if they are few for the word's length.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let allowed = EDIT * (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The cost of the edits between two words.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).map(|j| j * EDIT).collect();
    for (i, a) in left.iter().enumerate() {
        let mut current = vec![(i + 1) * EDIT];
        for (j, b) in right.iter().enumerate() {
            let substitution = previous[j] + if a == b { 0 } else { EDIT };
            let mut best = substitution.min(previous[j + 1] + EDIT).min(current[j] + EDIT);
            let swapped = i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b;
            if swapped {
                best = best.min(before[j - 1] + SWAP);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_wins_and_far_names_do_not_count() {
        let names = ["stats", "timechart", "table", "tail"];
        assert_eq!(nearest("timchart", names), Some("timechart"));
        assert_eq!(nearest("satts", names), Some("stats"));
        assert_eq!(nearest("TABEL", names), Some("table"));
        assert_eq!(nearest("boguscmd", names), None);
        assert_eq!(nearest("stast", ["stash", "stats"]), Some("stats"), "a swap is likelier");
    }
}
