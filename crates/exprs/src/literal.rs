//! Finds the rows of a text column that contain a literal, searching all rows at once.
//!
//! The texts of a page are adjacent in one buffer, so one search over the buffer finds the few rows that
//! contain the literal. The result is exact: it has all rows that contain the literal, and no others.

use arrow::array::{Array, ByteView, StringViewArray};
use arrow::buffer::BooleanBuffer;
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

/// Gap in bytes between two texts above which they are searched separately.
const GAP: usize = 64;
/// Texts up to this length are stored in their views instead of a buffer.
const INLINE: u32 = 12;

/// A compiled literal.
#[derive(Debug, Clone)]
pub(crate) struct LiteralSearch {
    finder: Search,
    length: usize,
}

#[derive(Debug, Clone)]
enum Search {
    Exact(Box<Finder<'static>>),
    /// Case-insensitive for ASCII letters.
    AnyCase(Regex),
}

/// Consecutive texts in a buffer: row, start and end of each.
#[derive(Default)]
struct Run {
    buffer: u32,
    texts: Vec<(usize, usize, usize)>,
}

impl LiteralSearch {
    /// Compiles a literal; `None` for the empty literal, which matches everywhere.
    pub(crate) fn new(literal: &[u8], any_case: bool) -> Option<Self> {
        let length = literal.len();
        let finder = match any_case {
            _ if literal.is_empty() => return None,
            false => Search::Exact(Box::new(Finder::new(literal).into_owned())),
            true => {
                let escaped = regex::escape(std::str::from_utf8(literal).ok()?);
                let mut regex = RegexBuilder::new(&escaped);
                Search::AnyCase(regex.case_insensitive(true).unicode(false).build().ok()?)
            }
        };
        Some(Self { finder, length })
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        match &self.finder {
            Search::Exact(finder) => finder.find(text),
            Search::AnyCase(regex) => regex.find(text).map(|found| found.start()),
        }
    }

    /// Returns the rows whose text contains the literal.
    pub(crate) fn rows(&self, texts: &StringViewArray) -> BooleanBuffer {
        let mut found = vec![false; texts.len()];
        let mut run = Run::default();
        for (row, view) in texts.views().iter().enumerate() {
            #[allow(clippy::cast_possible_truncation)]
            let length = *view as u32;
            if length <= INLINE {
                found[row] =
                    texts.is_valid(row) && self.find(texts.value(row).as_bytes()).is_some();
                continue;
            }
            let view = ByteView::from(*view);
            let (start, length) = (view.offset as usize, view.length as usize);
            let follows = run.texts.last().is_some_and(|(_, _, end)| {
                run.buffer == view.buffer_index && *end <= start && start - *end <= GAP
            });
            if !follows {
                self.search(&mut run, texts, &mut found);
                run.buffer = view.buffer_index;
            }
            run.texts.push((row, start, start + length));
        }
        self.search(&mut run, texts, &mut found);
        BooleanBuffer::collect_bool(found.len(), |row| found[row] && texts.is_valid(row))
    }

    /// Searches a run of texts and clears it.
    fn search(&self, run: &mut Run, texts: &StringViewArray, found: &mut [bool]) {
        let (Some((_, first, _)), Some((_, _, last))) = (run.texts.first(), run.texts.last())
        else {
            return;
        };
        let buffer = texts.data_buffers()[run.buffer as usize].as_slice();
        let (mut at, last) = (*first, *last);
        let mut rest = run.texts.iter().peekable();
        while let Some(hit) = self.find(&buffer[at..last]).map(|hit| at + hit) {
            while rest.next_if(|(_, _, end)| *end <= hit).is_some() {}
            let Some((row, start, end)) = rest.peek() else { break };
            // A hit between two texts, or across their border, is in neither of them.
            if *start <= hit && hit + self.length <= *end {
                found[*row] = true;
                at = *end;
            } else {
                at = hit + 1;
            }
        }
        run.texts.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{StringArray, StringViewArray};
    use arrow::compute::{cast, filter};
    use arrow::datatypes::DataType;
    use proptest::prelude::*;

    use super::*;

    /// Returns texts that are adjacent in a buffer, as in pages.
    fn paged(texts: &[Option<String>]) -> StringViewArray {
        let plain = StringArray::from(texts.to_vec());
        let views = cast(&plain, &DataType::Utf8View).unwrap();
        arrow::array::AsArray::as_string_view(&views).clone()
    }

    proptest! {
        #[test]
        fn finds_the_rows_that_a_look_at_each_finds(
            texts in prop::collection::vec(prop::option::of("[abAB ]{0,30}"), 0..60),
            literal in "[abAB]{1,4}",
            any_case: bool,
            keep in prop::collection::vec(any::<bool>(), 60),
        ) {
            let search = LiteralSearch::new(literal.as_bytes(), any_case).unwrap();
            let holds = |text: &str| match any_case {
                true => text.to_lowercase().contains(&literal.to_lowercase()),
                false => text.contains(&literal),
            };
            let all = paged(&texts);
            let mask = arrow::array::BooleanArray::from(keep[..texts.len()].to_vec());
            let some = filter(&all, &mask).unwrap();
            for column in [&all, arrow::array::AsArray::as_string_view(&some)] {
                let expected: Vec<bool> = column.iter().map(|text| text.is_some_and(holds)).collect();
                let found: Vec<bool> = search.rows(column).iter().collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_literal_across_two_texts_is_in_neither() {
        let texts =
            ["a text that ends with need", "le and more of it here", "here is a needle to find"];
        let texts = paged(&texts.map(|text| Some(text.to_owned())));
        let found = LiteralSearch::new(b"needle", false).unwrap().rows(&texts);
        assert_eq!(found.iter().collect::<Vec<_>>(), [false, false, true]);
    }
}
