//! Parts of a search that other processes run: the buckets in object storage are shared out among the
//! indexers, each of which does to its share what comes before the rows of all have to meet.
//!
//! ```text
//! search head:  plan -> cut -> reduce part <- GatherExec <- hot rows, and what nobody else has read
//!                                                 '- a task for each share --.
//! indexer:      PartRunner: plans the same search over its share -> map part -> rows
//! ```
//!
//! Guarantees: each bucket of the plan is in one share, so the result is that of one process. The rows of a
//! task reach the plan once it has ended, as long as they fit in memory; until then it is begun again
//! elsewhere if its indexer is lost, and in the end here. An indexer whose configuration, lookups or version
//! are others does not run the part, and says so.
//!
//! It leaves to others: where a plan is cut and how a part is spoken of (`distributed`), and who the indexers
//! are ([`Workers`](crate::Workers)).

mod distribute;
mod gather;
mod ramp;
mod shares;

pub(crate) use distribute::{Distribution, Head, Sharing, is_events};
pub(crate) use ramp::expected_shares;
