//! Tables that are collected to be appended to each other.
//!
//! Guarantees: the memory of the search is charged for the tables while further ones are collected, and for
//! the combined table until it is the input of the next stage, which counts its own rows.

use exprs::ledger::Charge;

use super::Rows;
use crate::planning::PlanningContext;
use frames::Error;

/// Tables in order, charged to the memory of the search.
#[derive(Debug)]
pub struct Stack {
    parts: Vec<Rows>,
    held: Charge,
}

impl Stack {
    /// Creates an empty stack.
    ///
    /// # Errors
    /// If no search runs.
    pub fn new(env: &PlanningContext<'_>) -> Result<Self, Error> {
        Ok(Self { parts: Vec::new(), held: env.session()?.charge() })
    }

    /// Adds a table.
    ///
    /// # Errors
    /// If the memory of the search has no room for it.
    pub fn push(&mut self, rows: Rows) -> Result<(), Error> {
        self.held.grow(rows.bytes())?;
        self.parts.push(rows);
        Ok(())
    }

    /// Appends the tables to each other.
    ///
    /// # Errors
    /// If there are more than `most` rows, or the memory of the search has no room for the combined table.
    pub fn stacked(self, most: usize) -> Result<Rows, Error> {
        let Self { parts, mut held } = self;
        held.grow(Rows::stacked_bytes(&parts))?;
        Ok(Rows::stacked(parts, most)?)
    }
}
