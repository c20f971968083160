//! Finds the known name that is nearest to a misspelt one.
//!
//! Guarantees: bounded time, whatever the length of the input.

/// Maximum length of words that get a suggestion.
const LONGEST: usize = 40;
/// The cost of an edit; two swapped neighbours, the most frequent typing error, cost half.
const EDIT: usize = 2;

/// Returns the candidate with the lowest edit cost, if the cost is low for the length of the word.
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

/// Returns the cost of the edits between two words.
fn distance(left: &str, right: &str) -> usize {
    let edits = strsim::damerau_levenshtein(left, right);
    // Levenshtein distance counts a swap as two edits, Damerau-Levenshtein distance as one.
    let swaps = strsim::levenshtein(left, right) - edits;
    EDIT * edits - swaps
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
