//! `relevancy`: how well an event matches the words of the search.
//!
//! Split: runs where the rows are.

use exprs::kernel::number;
use model::columns;
use spl::ast::RelevancyCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for RelevancyCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        // The relevancy is the mean over the search words of `1 + ln(n)` for a word that occurs `n` times in
        // the event, and of 0 for a word that does not occur. It is 0 for a search without words.
        let frame = input.frame;
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
        frame.with_columns(vec![(TARGET.to_owned(), value)]).map(Step::Next)
    }
}

const TARGET: &str = "relevancy";
