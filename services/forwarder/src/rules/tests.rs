//! Destinations of events by the rules of a configuration.
#![allow(clippy::unwrap_used)]

use conf::{Layer, Layers};
use model::IndexName;

use super::*;

const OUTPUTS: &str =
    "[tcpout]\ndefaultGroup = a\n[tcpout:a]\nserver = h:1\n[tcpout:b]\nserver = h:2\n";

/// The rules of a configuration with groups `a` and `b`.
pub(crate) fn book(props: &str, transforms: &str) -> Arc<RuleBook> {
    let layers = Layers::builtin()
        .with(Layer::SystemLocal, "props", props)
        .with(Layer::SystemLocal, "transforms", transforms)
        .with(Layer::SystemLocal, "outputs", OUTPUTS);
    let knowledge = Knowledge::new(layers);
    assert_eq!(knowledge.errors().len(), 0, "{:?}", knowledge.errors());
    let groups = Outputs::read(&knowledge.conf("outputs")).unwrap().groups;
    Arc::new(RuleBook::new(Arc::new(knowledge), groups))
}

pub(crate) fn meta(sourcetype: &str) -> InputMeta {
    InputMeta {
        index: IndexName::new("main").unwrap(),
        host: "h".into(),
        source: "s".into(),
        sourcetype: Some(sourcetype.into()),
    }
}

/// The groups of the inputs.
pub(crate) fn own() -> Arc<[usize]> {
    [0].into()
}

fn decisions(props: &str, transforms: &str, events: &[&str]) -> Vec<RoutingDecision> {
    let Some(mut ruling) = book(props, transforms).of(&meta("t"), "t", &own()) else {
        return events.iter().map(|_| RoutingDecision::Keep).collect();
    };
    events.iter().map(|event| ruling.decide(event, EventTime(0), event.len())).collect()
}

fn to(groups: &[usize]) -> RoutingDecision {
    RoutingDecision::To(groups.into())
}

const NULL: &str = "[null]\nREGEX = debug\nDEST_KEY = queue\nFORMAT = nullQueue\n";

#[test]
fn events_are_dropped_and_routed() {
    let transforms = "[null]\nREGEX = debug\nDEST_KEY = queue\nFORMAT = nullQueue\n\
                      [to_b]\nREGEX = error\nDEST_KEY = _TCP_ROUTING\nFORMAT = b\n\
                      [to_all]\nREGEX = fatal\nDEST_KEY = _TCP_ROUTING\nFORMAT = *\n\
                      [lost]\nREGEX = lost\nDEST_KEY = _TCP_ROUTING\nFORMAT = nowhere\n\
                      [home]\nREGEX = home\nDEST_KEY = _TCP_ROUTING\nFORMAT = a\n";
    let props = "[t]\nTRANSFORMS-x = null, to_b, to_all, lost, home\n";
    let events = ["fine", "debug", "an error", "fatal error", "lost", "home"];
    let expected = [
        RoutingDecision::Keep,
        RoutingDecision::Drop,
        to(&[1]),
        to(&[0, 1]),
        RoutingDecision::Keep,
        RoutingDecision::Keep,
    ];
    assert_eq!(decisions(props, transforms, &events), expected);
}

#[test]
fn stanzas_of_sources_and_hosts_count() {
    for stanza in ["t", "source::s", "host::h"] {
        let props = format!("[{stanza}]\nTRANSFORMS-x = null\n");
        assert_eq!(decisions(&props, NULL, &["debug"]), [RoutingDecision::Drop], "{stanza}");
    }
    let book = book("[t]\nTRANSFORMS-x = null\n", NULL);
    assert!(book.of(&meta("other"), "other", &own()).is_none());
}

#[test]
fn rules_see_what_rules_before_them_did() {
    let props = "[t]\nSEDCMD-mask = s/debug/masked/\nTRANSFORMS-x = null\n";
    assert_eq!(decisions(props, NULL, &["debug"]), [RoutingDecision::Keep]);
    let transforms =
        format!("{NULL}[keep]\nREGEX = worth it\nDEST_KEY = queue\nFORMAT = indexQueue\n");
    let props = "[t]\nTRANSFORMS-x = null, keep\n";
    let expected = [RoutingDecision::Drop, RoutingDecision::Keep];
    assert_eq!(decisions(props, &transforms, &["debug", "debug worth it"]), expected);
}

#[test]
fn what_only_the_indexer_can_tell_is_left_to_it() {
    for other in [
        "INGEST_EVAL = queue := if(random() % 2 == 0, \"nullQueue\", queue)",
        "STOP_PROCESSING_IF = len(_raw) > 3",
        "REGEX = 5\nSOURCE_KEY = field:status\nDEST_KEY = queue\nFORMAT = nullQueue",
        "REGEX = debug\nCLONE_SOURCETYPE = copies\nDEST_KEY = _raw\nFORMAT = x",
    ] {
        let transforms = format!("{NULL}[other]\n{other}\n");
        let props = "[t]\nTRANSFORMS-x = other, null\n";
        assert_eq!(decisions(props, &transforms, &["debug"]), [RoutingDecision::Keep], "{other}");
    }
    let transforms = format!("{NULL}[field]\nINGEST_EVAL = size := len(_raw)\n");
    assert_eq!(
        decisions("[t]\nTRANSFORMS-x = field, null\n", &transforms, &["debug"]),
        [RoutingDecision::Drop]
    );
}

#[test]
fn other_rules_do_not_concern_the_forwarder() {
    let transforms = "[index]\nREGEX = .\nDEST_KEY = _MetaData:Index\nFORMAT = other\n";
    assert!(!book("[t]\nTRANSFORMS-x = index\nSEDCMD-x = s/a/b/\n", transforms).any());
    assert!(!book("", "").any());
}

#[test]
fn what_was_done_is_told() {
    let transforms = format!("{NULL}[to_b]\nREGEX = err\nDEST_KEY = _TCP_ROUTING\nFORMAT = b\n");
    let book = book("[t]\nTRANSFORMS-x = null, to_b\n", &transforms);
    let mut ruling = book.of(&meta("t"), "t", &own()).unwrap();
    for event in ["debug", "debug 2", "err", "fine"] {
        ruling.decide(event, EventTime(0), event.len());
    }
    ruling.count();
    let (rules, routes) = book.status();
    assert_eq!((rules["null"].dropped_events, rules["null"].dropped_bytes), (2, 12));
    assert_eq!((routes["b"].routed_events, routes["b"].routed_bytes), (1, 3));
}
