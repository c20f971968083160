//! Text in brackets that is kept as written, and references to named searches.
//!
//! Guarantees: a bracket inside of a quoted text does not close the group. Leaves to others: the use of the
//! text (`foreach`, `map`), and the meaning of names.

use super::{Parsed, Parser};
use crate::ast::{Dataset, NamedDataset, NamedDatasetKind, Spanned, SubsearchOptions};
use crate::parser::{OptionValue, is_name_character};

impl Parser<'_> {
    /// Reads `[...]` as text, without the brackets and surrounding blanks.
    pub(crate) fn raw_group(&mut self, expected: &str) -> Parsed<Spanned<String>> {
        self.skip_space();
        let start = self.pos;
        let open = self.here();
        if !self.eat("[") {
            return Err(self.unexpected(expected));
        }
        let mut depth = 1_usize;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.quoted('"')?;
                    continue;
                }
                '\\' => {
                    self.bump();
                }
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                let text = self.slice(start + 1, self.pos - 1).trim().to_owned();
                return Ok(Spanned::new(text, self.span_from(start)));
            }
        }
        Err(self.error("unbalanced brackets: '[' is not closed", open))
    }

    /// Returns whether a search follows: `[...]` or `savedsearch:name`.
    pub(crate) fn at_dataset(&mut self) -> bool {
        self.skip_space();
        self.peek() == Some('[') || self.dataset_kind().is_some()
    }

    fn dataset_kind(&self) -> Option<NamedDatasetKind> {
        let (word, _) = self.rest().split_once(':')?;
        NamedDatasetKind::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.name()))
    }

    /// Reads a search: `[...]` or `savedsearch:name`.
    pub(crate) fn dataset(&mut self) -> Parsed<Dataset> {
        self.skip_space();
        let start = self.pos;
        let Some(kind) = self.dataset_kind() else {
            return self.subsearch().map(Dataset::Subsearch);
        };
        self.pos += kind.name().len() + 1;
        let name = self.dataset_name(&format!("a name after '{}:'", kind.name()))?.node;
        let span = self.span_from(start);
        Ok(Dataset::Named(NamedDataset { kind, name, span }))
    }

    /// Reads `Web.Proxy`, which may be quoted as a whole or in parts.
    pub(crate) fn dataset_name(&mut self, expected: &str) -> Parsed<Spanned<String>> {
        let start = self.pos;
        let mut name = String::new();
        loop {
            match self.peek() {
                Some('"') => name.push_str(&self.quoted('"')?.node),
                _ => name.push_str(self.take_while(is_name_character)),
            }
            let goes_on =
                self.peek() == Some('.') && !self.rest()[1..].starts_with(char::is_whitespace);
            if self.peek() != Some('"') && !goes_on {
                break;
            }
            if self.peek() == Some('.') {
                self.bump();
                name.push('.');
            }
        }
        if name.is_empty() {
            return Err(self.unexpected(expected));
        }
        Ok(Spanned::new(name, self.span_from(start)))
    }
}

/// Handles options of commands that run another search; each command lists them with its own options.
pub(crate) fn subsearch_option(options: &mut SubsearchOptions, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "maxtime" => options.maxtime = Some(option.number()?),
        "maxout" => options.maxout = Some(option.number()?),
        "timeout" => options.timeout = Some(option.number()?),
        "extendtimerange" => options.extendtimerange = option.boolean()?,
        // The option is about previews; the result is the same.
        _ => {
            option.boolean()?;
        }
    }
    Ok(())
}
