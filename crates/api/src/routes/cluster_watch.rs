//! The problems of the cluster as conditions of this process: those that
//! `GET /services/cluster/manager/health` lists, for clients that only read the health and the messages.
//!
//! Guarantees: a problem is reported after two checks in a row, so a process that is restarted is not a
//! problem, and neither is one that is restarted by a rolling restart, as long as that lasts. A slow process
//! is not a problem: the time-out is the same as that of a search for an indexer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Placement, Wave};
use peers::Registration;
use runtime::health::{self, Severity};

use super::cluster_fixup::few_copies;
use super::cluster_views::{
    NOT_LED, full_disks, hides_events, leader, named, reasons, silent, unmet,
};
use crate::ApiState;

/// Interval between the requests to the other processes.
const LOOK: Duration = Duration::from_secs(10);
/// Processes that a text names.
const NAMED: usize = 5;
/// The conditions that this file sets.
const CONDITIONS: [&str; 4] =
    [health::PROCESS_DOWN, health::PROCESS_DISK_FULL, health::REPLICATION_UNMET, health::NOT_LED];

/// Sets and clears the conditions until the server stops.
pub async fn watch_cluster(state: ApiState) {
    let Some(directory) = state.directory.clone() else { return };
    let mut before = BTreeSet::new();
    while state.shutdown.sleep(LOOK).await {
        let answers = tokio::select! {
            () = state.shutdown.stopped() => return,
            answers = directory.answers_in_time() => answers,
        };
        let full = full_disks(&answers);
        let missing = reasons(answers);
        let snapshot = state.catalog.snapshot();
        let all = Registration::all(&snapshot);
        // Records since when copies are missing, for later requests.
        let few = few_copies(&state, &snapshot, &missing);
        state.copy_fixups.look(state.clock.now().0 / 1_000_000, few.keys());
        let wave = peers::wave(&snapshot).filter(|wave| !wave.is_over());
        let processes = Processes {
            is_one_away: wave.as_ref().is_some_and(|wave| is_one_away(&all, wave)),
            all,
            down: but_restarting(missing, wave.as_ref()),
            full,
            is_led: leader(&snapshot).is_some(),
            wants_copies: state.ingest.replicates(),
        };
        let now = processes.problems(&state.info.placement);
        let told = texts(&now, &before, processes.hides_events(&before));
        for name in CONDITIONS {
            match told.get(name) {
                Some(text) => state.health.set(name, Severity::Warning, text.as_str()),
                None => state.health.clear(name),
            }
        }
        before = now.into_keys().collect();
    }
}

/// A condition, and the process that it is about; no process if it is about all of them.
type Subject = (&'static str, String);

/// The result of one check.
struct Processes {
    all: Vec<(String, Registration)>,
    /// The processes that do not answer, with the reasons.
    down: Vec<(String, String)>,
    /// The processes that have a full disk, with their directories.
    full: Vec<(String, String)>,
    is_led: bool,
    /// Whether an index is replicated. Without one, nothing waits for copies: a cluster may have fewer
    /// indexers than the default factor.
    wants_copies: bool,
    /// Whether a process that is being restarted has left the list until it has started.
    is_one_away: bool,
}

impl Processes {
    fn problems(&self, placement: &Placement) -> BTreeMap<Subject, String> {
        let missing = self.down.iter().map(|(id, reason)| {
            ((health::PROCESS_DOWN, id.clone()), silent(&self.all, id, reason))
        });
        let full = self.full.iter().map(|(id, text)| {
            let text = format!("{}: {text}", named(&self.all, id));
            ((health::PROCESS_DISK_FULL, id.clone()), text)
        });
        let of_all = |name| (name, String::new());
        let may_lack = self.wants_copies && !self.is_one_away;
        let factor = may_lack.then(|| unmet(placement, &self.all, &self.down)).flatten();
        let factor = factor.map(|text| (of_all(health::REPLICATION_UNMET), text));
        let is_led = self.is_led || self.is_one_away;
        let not_led = (!is_led).then(|| (of_all(health::NOT_LED), NOT_LED.to_owned()));
        missing.chain(full).chain(factor).chain(not_led).collect()
    }

    /// Whether searches may lack events of processes that did not answer at this and the previous check: only
    /// these are named.
    fn hides_events(&self, before: &BTreeSet<Subject>) -> bool {
        let was_down = |id: &String| before.contains(&(health::PROCESS_DOWN, id.clone()));
        let named = self.down.iter().filter(|(id, _)| was_down(id));
        hides_events(&self.all, &named.cloned().collect::<Vec<_>>())
    }
}

/// Returns the processes that do not answer, without those that are being restarted.
fn but_restarting(mut down: Vec<(String, String)>, wave: Option<&Wave>) -> Vec<(String, String)> {
    if let Some(wave) = wave {
        down.retain(|(id, _)| !wave.told.contains_key(id));
    }
    down
}

/// Whether a process that is being restarted is missing from the list: it leaves the list when it stops. If
/// it does not come back, the rolling restart halts.
fn is_one_away(all: &[(String, Registration)], wave: &Wave) -> bool {
    wave.told.keys().any(|id| !all.iter().any(|(known, _)| known == id))
}

/// The texts of conditions: of the problems that the look before has seen, too.
fn texts(
    now: &BTreeMap<Subject, String>,
    before: &BTreeSet<Subject>,
    hides_events: bool,
) -> BTreeMap<&'static str, String> {
    let mut lines: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
    for (subject, text) in now.iter().filter(|(subject, _)| before.contains(*subject)) {
        lines.entry(subject.0).or_default().push(text);
    }
    let text = |(name, lines): (&'static str, Vec<&str>)| {
        let more = lines.len().saturating_sub(NAMED);
        let mut text = lines.into_iter().take(NAMED).collect::<Vec<_>>().join("; ");
        if more > 0 {
            let verb = if name == health::PROCESS_DOWN { " do not answer" } else { "" };
            text.push_str(&format!("; {more} more{verb}"));
        }
        if name == health::PROCESS_DOWN && hides_events {
            text.push_str(
                ": until all processes answer, results and counts of events may be incomplete",
            );
        }
        (name, text)
    };
    lines.into_iter().map(text).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn process(id: &str, role: &str) -> (String, Registration) {
        let registration = json!({
            "name": format!("host-{id}"), "address": format!("127.0.0.1:{id}"), "roles": [role],
            "management": "", "version": "", "started": "",
        });
        (id.to_owned(), serde_json::from_value(registration).unwrap())
    }

    fn silent_ones(ids: &[&str]) -> Vec<(String, String)> {
        ids.iter().map(|id| ((*id).to_owned(), "timed out".to_owned())).collect()
    }

    fn look(down: &[&str], is_led: bool) -> Processes {
        let indexers = (1..=9).map(|id| process(&id.to_string(), "indexer"));
        let all = indexers.chain([process("c", "control-plane")]).collect();
        let down = silent_ones(down);
        let full = Vec::new();
        Processes { all, down, full, is_led, wants_copies: true, is_one_away: false }
    }

    #[test]
    fn few_indexers_are_no_problem_where_no_index_is_replicated() {
        let placement = Placement { factor: 10, ..Placement::default() };
        let is_told = |wants_copies| {
            let problems = Processes { wants_copies, ..look(&[], true) }.problems(&placement);
            problems.keys().any(|(name, _)| *name == health::REPLICATION_UNMET)
        };
        assert_eq!([false, true].map(is_told), [false, true]);
    }

    #[test]
    fn a_problem_is_told_that_two_looks_have_seen() {
        let placement = Placement { factor: 9, ..Placement::default() };
        let now = look(&["1"], true).problems(&placement);
        assert_eq!(texts(&now, &BTreeSet::new(), true), BTreeMap::new());
        let before: BTreeSet<Subject> = now.keys().cloned().collect();
        let told = texts(&now, &before, true);
        let down = &told[health::PROCESS_DOWN];
        assert!(down.starts_with("host-1 (1) does not answer: timed out: until"), "{down}");
        assert!(down.ends_with("results and counts of events may be incomplete"), "{down}");
        assert!(told[health::REPLICATION_UNMET].contains("8 of 9 indexers answer"), "{told:?}");
        assert!(!told.contains_key(health::NOT_LED));
        // One process is back, and another one is missing: each may just be restarted.
        let next = look(&["2"], true).problems(&placement);
        assert!(!texts(&next, &before, true).contains_key(health::PROCESS_DOWN));
        let healthy = look(&[], true).problems(&placement);
        assert_eq!(texts(&healthy, &before, false), BTreeMap::new());
    }

    #[test]
    fn a_text_names_some_processes_and_says_what_they_hide() {
        let placement = Placement { factor: 1, ..Placement::default() };
        let of = |processes: Processes| {
            let now = processes.problems(&placement);
            let before: BTreeSet<Subject> = now.keys().cloned().collect();
            texts(&now, &before, processes.hides_events(&before))
        };
        let many = &of(look(&["1", "2", "3", "4", "5", "6", "7"], true))[health::PROCESS_DOWN];
        assert!(many.contains("host-5 (5)") && !many.contains("host-6"), "{many}");
        assert!(many.contains("; 2 more do not answer"), "{many}");
        let control = of(look(&["c"], false));
        assert!(!control[health::PROCESS_DOWN].contains("incomplete"), "{control:?}");
        assert_eq!(control[health::NOT_LED], NOT_LED);
        // An indexer that may just be restarted is not named, and neither are its missing events.
        let seen = look(&["c", "1"], true);
        let before = |id: &str| BTreeSet::from([(health::PROCESS_DOWN, id.to_owned())]);
        assert!(!seen.hides_events(&before("c")) && seen.hides_events(&before("1")));
    }

    #[test]
    fn full_disks_of_processes_are_told_with_their_names_and_hide_no_events() {
        let placement = Placement { factor: 1, ..Placement::default() };
        let full = (1..=7).map(|id| (id.to_string(), format!("/data{id}: 0 bytes are free")));
        let seen = Processes { full: full.collect(), ..look(&[], true) };
        let now = seen.problems(&placement);
        let before: BTreeSet<Subject> = now.keys().cloned().collect();
        assert!(!seen.hides_events(&before));
        let told = texts(&now, &before, true);
        let text = &told[health::PROCESS_DISK_FULL];
        assert!(text.starts_with("host-1 (1): /data1: 0 bytes are free; host-2 (2): "), "{text}");
        assert!(text.ends_with("/data5: 0 bytes are free; 2 more"), "{text}");
        // One whose disk has room again is not named.
        let full = seen.full[..1].to_vec();
        let next = Processes { full, ..look(&[], true) }.problems(&placement);
        let told = texts(&next, &before, true);
        assert_eq!(told[health::PROCESS_DISK_FULL], "host-1 (1): /data1: 0 bytes are free");
    }

    #[test]
    fn processes_that_a_rolling_restart_has_told_are_no_problem_while_it_goes_on() {
        let mut wave = Wave::new(vec!["2".to_owned()], None);
        wave.told.insert("1".to_owned(), String::new());
        let down = || silent_ones(&["1", "2"]);
        assert_eq!(but_restarting(down(), Some(&wave)), silent_ones(&["2"]));
        assert_eq!(but_restarting(down(), None), down());
        // A process that has left the list meanwhile may be the leader, or one that copies need.
        let seen = look(&[], false);
        assert!(!is_one_away(&seen.all, &wave));
        wave.told.insert("10".to_owned(), String::new());
        assert!(is_one_away(&seen.all, &wave));
        let placement = Placement { factor: 10, ..Placement::default() };
        let names = |seen: &Processes| {
            let problems = seen.problems(&placement).into_keys();
            problems.map(|(name, _)| name).collect::<BTreeSet<_>>()
        };
        let both = BTreeSet::from([health::NOT_LED, health::REPLICATION_UNMET]);
        assert_eq!(names(&seen), both);
        assert_eq!(names(&Processes { is_one_away: true, ..seen }), BTreeSet::new());
    }
}
