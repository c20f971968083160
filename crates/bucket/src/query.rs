//! Which words a row must have: what a search can say to the term index before it reads any row.

/// A condition over the words of an event. Evaluated against a bucket
/// ([`BucketReader::candidates`](crate::BucketReader::candidates)) it gives a superset of the
/// granules that have a matching row, never a false negative.
///
/// A word is a minor segment ([`segments`](crate::segments)): text between two breakers or ends,
/// compared lower-cased. Words are found in `_raw`, in `host`, `source`, `sourcetype`, in indexed
/// fields, and in the values that the rules in `BucketSummary::rules` extract, also where such a value is
/// only a part of a segment of `_raw` or not in it at all. So `field=value` may use
/// [`TermQuery::for_text`] on the value exactly when the rules are still those of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermQuery {
    /// All of them; an empty list is [`TermQuery::All`].
    And(Vec<TermQuery>),
    /// Any of them; an empty list is [`TermQuery::Nothing`].
    Or(Vec<TermQuery>),
    /// The word occurs. Case does not matter; text with breakers in it never occurs.
    Word(String),
    /// A word with this beginning occurs.
    Prefix(String),
    /// A word occurs that matches the pattern, `*` standing for any characters of one word.
    Pattern(String),
    /// The inner query, counting only words of `_raw`: what a bare search term means.
    InRaw(Box<TermQuery>),
    /// Every row may match.
    All,
    /// No row can match.
    Nothing,
}
