//! The files about wildcards are complete, and all topologies run all of their blocks.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use karst_spectest::{
    Memory, SpecEvent, Topology, is_about_wildcards, parse, run_file, spec_files,
};
use knowledge::Knowledge;
use plan::EventSource;
use spl::ast::Command;

/// The commands that take wildcards are found by the parser: those that accept a `*` at the end of a name of
/// a field in any spec.
#[test]
fn every_command_that_takes_wildcards_has_a_block_about_them() {
    let (mut takes, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for file in spec_files(Path::new("specs")).unwrap() {
        let text = std::fs::read_to_string(&file).unwrap();
        for block in parse(&text).unwrap() {
            let Ok(pipeline) = spl::parse(&block.search) else { continue };
            for (at, command) in pipeline.commands.iter().enumerate() {
                let name = command.node.name();
                let fields = patterns(&command.node);
                let is_shown = fields.iter().any(|field| field.is_wild);
                if is_shown && is_about_wildcards(&file) {
                    shown.insert(name);
                }
                let is_accepted = |field: &Pattern| field.may_be_wild(&block.search, at);
                if is_shown || (!takes.contains(name) && fields.iter().any(is_accepted)) {
                    takes.insert(name);
                }
            }
        }
    }
    let missing: Vec<_> = takes.difference(&shown).collect();
    assert!(missing.is_empty(), "no block of a file wildcards*.spec has a wildcard in {missing:?}");
    assert!(takes.len() > 30, "the parser accepts wildcards in {takes:?} only");
    // Its fields are of the same type as those with wildcards, but the parser refuses these.
    assert!(!takes.contains("associate"), "{takes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_about_wildcards_are_not_distributed_among_topologies() {
    for (file, is_whole) in [("pipelines/wildcards.spec", true), ("commands/dedup.spec", false)] {
        let third = Arc::new(Third { memory: Memory::Whole, loads: AtomicUsize::new(0) });
        let topology: Arc<dyn Topology> = Arc::clone(&third) as Arc<dyn Topology>;
        let report = run_file(&Path::new("specs").join(file), &[topology]).await.unwrap();
        let loads = third.loads.load(Ordering::Relaxed);
        assert_eq!(loads == report.blocks, is_whole, "{file}: {loads} of {}", report.blocks);
    }
}

/// Events in memory, for each third block of a file.
#[derive(Debug)]
struct Third {
    memory: Memory,
    loads: AtomicUsize,
}

impl Topology for Third {
    fn name(&self) -> String {
        "a third of the blocks".to_owned()
    }

    fn share(&self) -> (usize, usize) {
        (2, 3)
    }

    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.memory.load(events, knowledge)
    }
}

/// A name of a field that may have wildcards by its type, `FieldPattern`.
struct Pattern {
    is_wild: bool,
    /// Its last position in the search.
    end: usize,
}

impl Pattern {
    /// Whether the parser accepts the name with a `*` at its end, in the command at this place.
    fn may_be_wild(&self, search: &str, at: usize) -> bool {
        let Some((before, behind)) = search.split_at_checked(self.end) else { return false };
        let Ok(pipeline) = spl::parse(&format!("{before}*{behind}")) else { return false };
        let command = pipeline.commands.get(at);
        command.is_some_and(|command| patterns(&command.node).iter().any(|field| field.is_wild))
    }
}

/// The patterns in the arguments of a command, without those of its subsearches. They are read from its debug
/// output, because there is no other view of the arguments of all commands.
fn patterns(command: &Command) -> Vec<Pattern> {
    let tree = format!("{command:#?}");
    let lines: Vec<&str> = tree.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.ends_with("Pipeline {") {
            let outer = indent(line);
            at += lines[at..].iter().take_while(|inner| indent(inner) > outer).count();
        } else if line.ends_with("FieldPattern {") {
            found.extend(pattern(&lines[at..]));
        }
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Reads the lines `text: "a*",` and `span: 5..7,`.
fn pattern(lines: &[&str]) -> Option<Pattern> {
    let [text, span, ..] = lines else { return None };
    let is_wild = text.trim().strip_prefix("text: ")?.contains('*');
    let (_, end) = span.trim().strip_prefix("span: ")?.strip_suffix(',')?.split_once("..")?;
    Some(Pattern { is_wild, end: end.parse().ok()? })
}
