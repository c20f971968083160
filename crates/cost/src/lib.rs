//! The cost model: the monthly bill of a cluster, by what is paid for.
//!
//! ```text
//! own events, catalog -> Measured --\
//! parameters, options ------------> Inputs + PriceList -> Bill
//! ```
//!
//! The formulas, inputs, defaults and prices are those of the Terraform module `terraform/modules/cost`,
//! whose price list this crate embeds; `tests/terraform.rs` computes every run of the module's tests. Pure:
//! what a server has counted is the caller's to ask (`api::routes::cost`). `docs/cost.md` describes inputs
//! and parts.

mod bill;
mod inputs;
mod measured;
mod prices;
mod report;

pub use bill::{Bill, LeftOut, Part, round};
pub use inputs::{Input, Inputs, Source, Value};
pub use measured::{Counted, Index, Measured, OWN_EVENTS, Row};
pub use prices::{PriceList, Tier};

/// Days of a month, as the model counts them.
pub const MONTH_DAYS: f64 = 30.4;
/// Hours of a month for what is paid by the hour.
pub const MONTH_HOURS: f64 = 730.0;
/// Bytes of the gigabyte by which object storage is billed, and that measured values are in.
pub const GB: f64 = (1_u64 << 30) as f64;

/// What cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An input that the model does not have.
    #[error("\"{name}\" is not an input of the cost model; they are: {known}")]
    Unknown {
        /// What was given.
        name: String,
        /// The names of all inputs.
        known: String,
    },
    /// A value outside of the range of its input.
    #[error("{name}: \"{given}\" is not {expected}")]
    Invalid {
        /// The input.
        name: &'static str,
        /// What was given.
        given: String,
        /// What is accepted.
        expected: String,
    },
    /// An instance type without a price.
    #[error("nodes: the price list of {as_of} has no instance type \"{given}\"; it has: {known}")]
    InstanceType {
        /// What was given.
        given: String,
        /// The date of the price list.
        as_of: String,
        /// The types that it has.
        known: String,
    },
    /// An input without a default that was neither given nor measured.
    #[error("the volume of events per day is neither given nor measured: {reason}")]
    NoVolume {
        /// Why it was not measured, and what helps.
        reason: String,
    },
    /// A price list that cannot be read.
    #[error("the price list is invalid: {0}")]
    Prices(String),
}
