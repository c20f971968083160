//! Messages about the rules for breaking events of all groups: files that wait for them, and groups that
//! differ in them. Files wait for a limited time ([`IndexerRules::is_overdue`]).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inputs::monitor::{FileState, FileStatus, MonitorStatus};
use runtime::Shutdown;

use crate::indexer_rules::IndexerRules;

/// Interval of the checks.
const TICK: Duration = Duration::from_secs(1);
/// Interval of the message about files that wait.
const AGAIN: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug)]
pub(crate) struct RulesReport {
    /// The rules by group.
    rules: Vec<Arc<IndexerRules>>,
    /// The groups of inputs, and their files; `None` without file inputs.
    routes: Vec<(Vec<usize>, Option<MonitorStatus>)>,
    /// The pairs of groups with different rules that were logged.
    different: BTreeSet<(usize, usize)>,
    /// Time of the last message about files that wait, by group.
    waiting: Vec<Option<Instant>>,
}

impl RulesReport {
    pub(crate) fn new(
        rules: Vec<Arc<IndexerRules>>,
        routes: Vec<(Vec<usize>, Option<MonitorStatus>)>,
    ) -> Self {
        let waiting = vec![None; rules.len()];
        Self { rules, routes, different: BTreeSet::new(), waiting }
    }

    /// Reports until the signal to stop.
    pub(crate) async fn run(mut self, shutdown: Shutdown) {
        while shutdown.sleep(TICK).await {
            self.report_waiting(Instant::now());
            self.report_different();
        }
    }

    /// Logs how many files wait for the first answer of an indexer, and ends the wait after its limit.
    fn report_waiting(&mut self, now: Instant) {
        for (group, rules) in self.rules.iter().enumerate() {
            if rules.are_known() {
                continue;
            }
            let of_group = self.routes.iter().filter(|(groups, _)| groups.first() == Some(&group));
            let of_routes: Vec<usize> =
                of_group.filter_map(|(_, files)| files.as_ref().map(unread)).collect();
            let files: usize = of_routes.iter().sum();
            let waiting = &mut self.waiting[group];
            if rules.is_overdue(now) {
                if !of_routes.is_empty() {
                    rules.warn(
                        files,
                        "no indexer has answered within the limit: until one does, files are cut by this \
                         forwarder's own props.conf, which may cut events of several lines in two",
                    );
                }
                rules.end_wait();
            } else if files > 0
                && rules.is_late(now)
                && waiting.is_none_or(|last| now.duration_since(last) >= AGAIN)
            {
                rules.warn(
                    files,
                    "files are not read, because no indexer has sent its rules for breaking events yet; \
                     after the limit they are cut by this forwarder's own props.conf",
                );
                *waiting = Some(now);
            }
        }
    }

    /// Logs, once for each pair, that groups that get the same streams have different rules.
    fn report_different(&mut self) {
        for (groups, _) in &self.routes {
            let Some((first, others)) = groups.split_first() else { continue };
            for other in others {
                let (one, two) = (&self.rules[*first], &self.rules[*other]);
                if one.differs(two) && self.different.insert((*first, *other)) {
                    tracing::warn!(
                        first = one.group(),
                        other = two.group(),
                        "the indexers of two groups that get the same streams have different rules for \
                         breaking events: the streams are cut by those of the first group"
                    );
                }
            }
        }
    }
}

/// Number of the files that are not read to their end.
fn unread(files: &MonitorStatus) -> usize {
    let is_unread =
        |file: &&FileStatus| file.state != FileState::Ignored && file.position < file.size;
    files.files().iter().filter(is_unread).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layers;
    use knowledge::Knowledge;

    use super::*;
    use crate::indexer_rules::{Compiler, FILES_WAIT};

    #[test]
    fn files_do_not_wait_for_ever() {
        let data = tempfile::tempdir().unwrap();
        let own = Arc::new(Knowledge::new(Layers::builtin()));
        let compiler = Arc::new(Compiler::new(own));
        let open = |group: &str| {
            Arc::new(IndexerRules::open(Arc::clone(&compiler), &group.into(), data.path()))
        };
        let rules = vec![open("a"), open("b"), open("unused")];
        let routes = vec![(vec![0, 2], Some(MonitorStatus::default())), (vec![1], None)];
        let mut report = RulesReport::new(rules.clone(), routes);
        let known = || rules.iter().map(|rules| rules.are_known()).collect::<Vec<_>>();
        let now = Instant::now();
        let second = Duration::from_secs(1);
        // Without a failed attempt to connect, nothing ends the wait.
        report.report_waiting(now + FILES_WAIT * 2);
        assert_eq!(known(), [false, false, false]);
        rules[0].failed("i:1", "refused", now);
        rules[2].failed("i:3", "refused", now);
        rules[0].failed("i:1", "refused", now + second);
        report.report_waiting(now + FILES_WAIT - second);
        assert_eq!(known(), [false, false, false]);
        report.report_waiting(now + FILES_WAIT);
        assert_eq!(known(), [true, false, true]);
        // Without an unread file there was nothing to report.
        assert!(report.waiting.iter().all(Option::is_none));
        rules[1].failed("i:2", "refused", now);
        report.report_waiting(now + FILES_WAIT);
        assert_eq!(known(), [true, true, true]);
    }
}
