//! The cost model: the monthly bill of a cluster, per billed item.
//!
//! ```text
//! own events, catalog -> Measured --\
//! parameters, options ------------> Inputs + PriceList -> Bill
//! ```
//!
//! The formulas, inputs, defaults and prices are those of the Terraform module `terraform/modules/cost`,
//! whose price list this crate embeds; `tests/terraform.rs` computes every run of the module's tests. This
//! crate is pure: the caller (`api::routes::cost`) gets the measured values. `docs/cost.md` describes
//! inputs and parts.

mod bill;
mod inputs;
mod measured;
mod prices;
mod report;

pub use bill::{Bill, LeftOut, Part, round};
pub use inputs::{Input, Inputs, Source, Value};
pub use measured::{Counted, Index, Measured, OWN_EVENTS, Row};
pub use prices::{PriceList, Tier};

/// Days per month in the model.
pub const MONTH_DAYS: f64 = 30.4;
/// Hours per month for items billed by the hour.
pub const MONTH_HOURS: f64 = 730.0;
/// Bytes per GB in the bills of object storage and in measured values.
pub const GB: f64 = (1_u64 << 30) as f64;

/// An error of the cost model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An unknown input.
    #[error("\"{name}\" is not an input of the cost model; they are: {known}")]
    Unknown {
        /// The given name.
        name: String,
        /// The names of all inputs.
        known: String,
    },
    /// A value outside the range of its input.
    #[error("{name}: \"{given}\" is not {expected}")]
    Invalid {
        /// The input.
        name: &'static str,
        /// The given value.
        given: String,
        /// The accepted values.
        expected: String,
    },
    /// An instance type without a price.
    #[error("nodes: the price list of {as_of} has no instance type \"{given}\"; it has: {known}")]
    InstanceType {
        /// The given type.
        given: String,
        /// The date of the price list.
        as_of: String,
        /// The types in the list.
        known: String,
    },
    /// The volume of events is neither given nor measured.
    #[error("the volume of events per day is neither given nor measured: {reason}")]
    NoVolume {
        /// Why it was not measured, and what helps.
        reason: String,
    },
    /// A price list that cannot be read.
    #[error("the price list is invalid: {0}")]
    Prices(String),
}
