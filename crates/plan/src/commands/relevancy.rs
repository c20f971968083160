//! `relevancy`: how well an event matches the words of the search.
//!
//! Split: runs where the rows are.

use model::columns;

use crate::Error;
use crate::expr::kernel::number;
use crate::frame::Frame;

const TARGET: &str = "relevancy";

/// The mean over the words that the search looks for of `1 + ln(n)`, where a word is `n` times in the event,
/// and 0 where it is not; 0 for a search without words.
pub(super) fn plan(frame: Frame) -> Result<Frame, Error> {
    let words: Vec<String> = frame.words.iter().map(|word| word.replace('*', "")).collect();
    let words: Vec<String> =
        words.iter().map(|word| word.to_lowercase()).filter(|word| !word.is_empty()).collect();
    let parameters = format!("{words:?}");
    let relevancy = number("relevancy", move |row| {
        let text = row.text(0)?.to_lowercase();
        let score = |word: &String| match text.matches(word.as_str()).count() {
            0 => 0.0,
            #[allow(clippy::cast_precision_loss)]
            found => 1.0 + (found as f64).ln(),
        };
        #[allow(clippy::cast_precision_loss)]
        let count = words.len().max(1) as f64;
        Some(words.iter().map(score).sum::<f64>() / count)
    });
    let value = relevancy.with(parameters).call(vec![frame.field(columns::RAW)]);
    frame.with_columns(vec![(TARGET.to_owned(), value)])
}
