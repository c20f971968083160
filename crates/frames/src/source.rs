//! The interface to stored events: the facts that planning needs, and the tables that plans read.
//!
//! `search` implements it over buckets, tests over rows in memory. Implementations guarantee that
//! a table holds every event of the request exactly once, in any order and any partitioning.

mod empty;

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use datafusion::datasource::TableProvider;
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, ValueCount};

pub use empty::EmptySource;

use crate::Error;

/// A field that the plan reads besides the fixed columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceField {
    /// Exact, case-sensitive name.
    pub name: String,
    /// Read as `List<Utf8View>` rather than `Utf8View`.
    pub multivalue: bool,
}

/// The events and fields that a plan reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsRequest {
    /// Indexes to read, existing ones only.
    pub indexes: Vec<IndexName>,
    /// Time range of the events; the plan also filters by it.
    pub range: TimeRange,
    /// Columns after the seven fixed ones, in this order.
    pub fields: Vec<SourceField>,
    /// The source types for which the plan was made, if it omits what others would need. Events of other
    /// source types, which have arrived since, are not read.
    pub sourcetypes: Option<Arc<HashSet<String>>>,
}

/// A field name that occurs in the events of a range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldInfo {
    /// Exact, case-sensitive name.
    pub name: String,
    /// Whether some event has several values of it.
    pub multivalue: bool,
    /// Number of events that have it, as far as known.
    pub count: u64,
}

/// The values that the `metadata` command lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataKind {
    /// Distinct hosts.
    Hosts,
    /// Distinct sources.
    Sources,
    /// Distinct source types.
    Sourcetypes,
}

/// Stored events, from the point of view of planning.
pub trait EventSource: Send + Sync + Debug {
    /// All known indexes, internal ones included.
    fn indexes(&self) -> Vec<IndexName>;

    /// The indexes with `datatype = metric`: only commands about metrics read them.
    fn metric_indexes(&self) -> Vec<IndexName>;

    /// The indexes that are disabled: messages about them differ from those about unknown ones.
    fn disabled_indexes(&self) -> Vec<IndexName> {
        Vec::new()
    }

    /// A table with the columns `_time`, `_indextime`, `_raw`, `host`, `source`, `sourcetype`,
    /// `index` and then `request.fields` in order. Names may occur once only.
    ///
    /// # Errors
    /// If the request names something the source cannot read.
    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error>;

    /// Field names that may occur, for wildcards and multivalue flags.
    ///
    /// # Errors
    /// If the field catalogues cannot be read.
    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>>;

    /// Returns those of the given fields that may have several values in one event, and possibly others of
    /// them, without finding the other fields.
    ///
    /// # Errors
    /// If the field catalogues cannot be read.
    fn several<'a>(
        &'a self,
        names: &'a [&'a str],
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<HashSet<String>, Error>> {
        Box::pin(async move {
            let known = self.fields(indexes, range).await?.into_iter();
            let several =
                known.filter(|field| field.multivalue && names.contains(&field.name.as_str()));
            Ok(several.map(|field| field.name).collect())
        })
    }

    /// Whether some events may be rows of summary indexes: [`fields`](Self::fields) finds
    /// [`columns::SUMMARY_VERSION`](model::columns::SUMMARY_VERSION).
    ///
    /// # Errors
    /// If the field catalogues cannot be read.
    fn has_summary_rows<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let known = self.fields(indexes, range).await?;
            Ok(known.iter().any(|field| field.name == model::columns::SUMMARY_VERSION))
        })
    }

    /// The source types of the events of a range, perhaps with some that none of them has; `None` if they are
    /// not known.
    ///
    /// # Errors
    /// If the summaries cannot be read.
    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>>;

    /// Returns the entries of `metadata`, one per distinct value.
    ///
    /// # Errors
    /// If the summaries cannot be read.
    fn metadata<'a>(
        &'a self,
        kind: MetadataKind,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>>;
}
