//! The numbers of a line of metrics.log as data points, with the names that Splunk gives them in `_metrics`:
//! `spl.mlog.GROUP.FIELD`, and `spl.mlog.GROUP.NAME.FIELD` of a line with a name.
//!
//! The points of a line are one event; the words and names in the line are their dimensions.

/// Numbers that identify something: they are dimensions.
const IDENTITIES: [&str; 4] = ["ingest_pipe", "pid", "size_mb", "sourcePort"];

/// The data points of a line, which share dimensions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    /// The name of the group, followed by that of the line if it has one.
    prefix: String,
    /// Names below the prefix, and numbers.
    measures: Vec<(String, String)>,
    /// Names and texts.
    dimensions: Vec<(String, String)>,
}

impl Points {
    /// The index of points.
    pub const INDEX: &'static str = "_metrics";
    /// The source type of points: that of Splunk's copy of metrics.log.
    pub const SOURCETYPE: &'static str = "splunk_metrics_log";
    /// The text of an event whose points are in its fields.
    pub const TEXT: &'static str = "metric";

    /// Points of a group, without any yet.
    pub(crate) fn of(group: &str) -> Self {
        let dimensions = vec![("group".to_owned(), group.to_owned())];
        Self { prefix: format!("spl.mlog.{group}"), dimensions, ..Self::default() }
    }

    /// Adds a word of the program's own. A `name` becomes a part of the names of points.
    pub(crate) fn word(&mut self, name: &str, word: &str) {
        if name == "name" {
            self.prefix.push('.');
            self.prefix.push_str(word);
        }
        self.dimension(name, word);
    }

    /// Adds a dimension, unless it is empty.
    pub(crate) fn dimension(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.dimensions.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Adds the text of a finite number.
    pub(crate) fn measure(&mut self, name: &str, number: &str) {
        if IDENTITIES.contains(&name) {
            self.dimension(name, number);
        } else {
            self.measures.push((name.to_owned(), number.to_owned()));
        }
    }

    /// Whether there are no points.
    pub(crate) fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// The indexed fields of the event: points, and dimensions.
    pub fn fields(&self) -> impl Iterator<Item = (String, &str)> {
        let points = self.measures.iter().map(move |(name, number)| {
            (format!("metric_name:{}.{name}", self.prefix), number.as_str())
        });
        let dimensions = self.dimensions.iter();
        points.chain(dimensions.map(|(name, value)| (name.clone(), value.as_str())))
    }

    /// About the bytes of the fields.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names = self.measures.len() * self.prefix.len();
        let pairs = self.measures.iter().chain(&self.dimensions);
        names + pairs.map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(points: &Points) -> Vec<(String, String)> {
        points.fields().map(|(name, value)| (name, value.to_owned())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn points_have_the_group_and_the_name_in_their_names() {
        let mut points = Points::of("queue");
        points.measure("ingest_pipe", "0");
        points.word("name", "parsingqueue");
        points.measure("current_size", "2");
        points.measure("max_size_kb", "16384.5");
        points.measure("size_mb", "4096");
        let expected = [
            ("metric_name:spl.mlog.queue.parsingqueue.current_size", "2"),
            ("metric_name:spl.mlog.queue.parsingqueue.max_size_kb", "16384.5"),
            ("group", "queue"),
            ("ingest_pipe", "0"),
            ("name", "parsingqueue"),
            ("size_mb", "4096"),
        ];
        assert_eq!(fields(&points), pairs(&expected));
    }

    #[test]
    fn names_that_somebody_gave_are_dimensions_only() {
        let mut points = Points::of("instance");
        points.dimension("name", "my server");
        points.dimension("user", "");
        points.measure("pid", "7");
        assert!(points.is_empty());
        points.measure("uptime_s", "30");
        let expected = [
            ("metric_name:spl.mlog.instance.uptime_s", "30"),
            ("group", "instance"),
            ("name", "my server"),
            ("pid", "7"),
        ];
        assert_eq!(fields(&points), pairs(&expected));
    }
}
