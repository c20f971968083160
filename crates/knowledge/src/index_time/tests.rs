//! Tests of rules from their settings to the result, on single events.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use conf::{Layer, Layers};
use model::{EventTime, IndexName, Origin};

use super::{EventDraft, Queue, Tally};
use crate::{Knowledge, ParsingRules};

const NOW: EventTime = EventTime(1_700_000_000_000_000);

fn knowledge(props: &str, transforms: &str) -> Knowledge {
    let layers = Layers::builtin()
        .with(Layer::SystemLocal, "props", &format!("[st]\n{props}"))
        .with(Layer::SystemLocal, "transforms", transforms);
    Knowledge::new(layers)
}

fn rules(props: &str, transforms: &str) -> Arc<ParsingRules> {
    let knowledge = knowledge(props, transforms);
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
    knowledge.parsing_rules("st", "/a.log", "web1")
}

fn origin() -> Origin {
    Origin {
        index: IndexName::new("main").unwrap(),
        host: "web1".into(),
        source: "/a.log".into(),
        sourcetype: "st".into(),
    }
}

/// Returns the event after the rules, with its clones.
fn run(props: &str, transforms: &str, raw: &str) -> (String, Vec<String>, Tally) {
    let rules = rules(props, transforms);
    let origin = origin();
    let mut draft = EventDraft::new(raw, NOW, &origin);
    let mut tally = Tally::new(&rules.index_time);
    let mut clones = Vec::new();
    rules.index_time.apply(&mut draft, NOW, &mut tally, &mut clones);
    (shown(&draft), clones.iter().map(shown).collect(), tally)
}

/// Returns the differences between the event and its original.
fn shown(draft: &EventDraft<'_>) -> String {
    let mut out = draft.raw.to_string();
    for (name, value, usual) in [
        ("index", &draft.index, "main"),
        ("host", &draft.host, "web1"),
        ("source", &draft.source, "/a.log"),
        ("sourcetype", &draft.sourcetype, "st"),
    ] {
        if *value != usual {
            out += &format!(" | {name}={value}");
        }
    }
    for (name, value) in &draft.fields {
        out += &format!(" | {name}::{value}");
    }
    if draft.time != NOW {
        out += &format!(" | time={}", draft.time.seconds());
    }
    if draft.queue != Queue::Index {
        out += " | dropped";
    }
    out
}

fn check(props: &str, transforms: &str, raw: &str, expected: &str) {
    assert_eq!(run(props, transforms, raw).0, expected, "{props}\n{transforms}");
}

#[test]
fn without_rules_there_is_nothing_to_do() {
    assert!(rules("", "").index_time.is_empty());
    assert!(!rules("ANNOTATE_PUNCT = true", "").index_time.is_empty());
    check("ANNOTATE_PUNCT = true", "", "a b: c", "a b: c | punct::_:_");
}

#[test]
fn sed_commands_run_in_the_order_of_their_classes() {
    let props = "SEDCMD-b = s/two/three/\nSEDCMD-a = s/one/two/";
    let (event, _, tally) = run(props, "", "one");
    assert_eq!(event, "three");
    assert_eq!(tally.rules.iter().map(|rule| rule.changed).collect::<Vec<_>>(), [1, 1]);
    let names: Vec<_> =
        rules(props, "").index_time.rules().iter().map(|rule| rule.name.clone()).collect();
    assert_eq!(names, ["SEDCMD-a", "SEDCMD-b"]);
}

#[test]
fn what_goes_to_the_null_queue_is_dropped_unless_a_later_rule_keeps_it() {
    let props = "TRANSFORMS-a = none, some";
    let transforms = "[none]\nREGEX = .\nDEST_KEY = queue\nFORMAT = nullQueue\n\
                      [some]\nREGEX = ERROR\nDEST_KEY = queue\nFORMAT = indexQueue";
    check(props, transforms, "INFO x", "INFO x | dropped");
    check(props, transforms, "ERROR x", "ERROR x");
    let (_, _, tally) = run(props, transforms, "INFO x");
    assert_eq!(tally.rules.iter().map(|rule| rule.dropped).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn metadata_is_set_with_and_without_its_prefix() {
    let props = "TRANSFORMS-a = host, index, source, type";
    let transforms = "[host]\nREGEX = from=(\\w+)\nDEST_KEY = MetaData:Host\nFORMAT = host::$1\n\
        [index]\nREGEX = ERROR\nDEST_KEY = _MetaData:Index\nFORMAT = errors\n\
        [source]\nSOURCE_KEY = MetaData:Source\nREGEX = source::/(\\w)\\.log\n\
        DEST_KEY = _MetaData:Source\nFORMAT = source::x-$1\n\
        [type]\nSOURCE_KEY = MetaData:Host\nREGEX = ^host::db\nDEST_KEY = MetaData:Sourcetype\nFORMAT = other";
    check(
        props,
        transforms,
        "ERROR from=db7",
        "ERROR from=db7 | index=errors | host=db7 | source=x-a | sourcetype=other",
    );
    check(props, transforms, "fine", "fine | source=x-a");
}

#[test]
fn raw_is_rewritten_with_groups_and_what_was_there() {
    let mask = "[mask]\nREGEX = (?s)^(.*card=)\\d+(\\d{4}.*)$\nDEST_KEY = _raw\nFORMAT = $1XXXX$2";
    let (event, _, tally) = run("TRANSFORMS-a = mask", mask, "a card=12345678 b");
    assert_eq!(event, "a card=XXXX5678 b");
    assert_eq!(tally.rules[0].changed, 1);
    let add = "[add]\nREGEX = (x)\nDEST_KEY = _raw\nFORMAT = $1 $0 $9 \\$1";
    check("TRANSFORMS-a = add", add, "x y", "x x y $9 \\x");
}

#[test]
fn indexed_fields_are_added_to_those_that_are_there() {
    let props = "TRANSFORMS-a = one, all, meta, named";
    let transforms = "[one]\nREGEX = (\\w+)=(\\w+)\nFORMAT = first::$2 \"the key\"::$1\nWRITE_META = true\n\
        [all]\nREGEX = (\\w)=\nFORMAT = key::$1\nWRITE_META = true\nREPEAT_MATCH = true\n\
        [meta]\nREGEX = b=(\\d)\nFORMAT = $0 b::$1.$1\nDEST_KEY = _meta\n\
        [named]\nREGEX = a=(\\d)\nWRITE_META = true";
    check(
        props,
        transforms,
        "a=1 b=2",
        "a=1 b=2 | first::1 | the key::a | key::a | key::b | b::2.2 | named::1",
    );
    let fields = "[one]\nREGEX = (\\w+)\nFORMAT = a::$1 b::$1\nWRITE_META = true\n\
        [two]\nSOURCE_KEY = fields:a,b\nREGEX = ^(\\w+) (\\w+)$\nFORMAT = both::$1-$2\nDEST_KEY = _meta";
    check("TRANSFORMS-a = one, two", fields, "x y", "x y | both::x-x");
}

#[test]
fn quotes_around_a_value_are_not_part_of_it_unless_others_are_in_it() {
    let transforms = "[kv]\nREGEX = (\\w+)=(\"[^\"]*\"|\\S+)\nFORMAT = $1::$2\nWRITE_META = true\n\
                      REPEAT_MATCH = true";
    let text = "id=\"10963\" name=\"two words\" none=\"\" part=a\"b\"";
    let expected = format!("{text} | id::10963 | name::two words | part::a\"b\"");
    check("TRANSFORMS-a = kv", transforms, text, &expected);
    let transforms =
        "[kv]\nREGEX = (\\S+?)=(\\S+)\nFORMAT = $1::$2\nWRITE_META = true\nREPEAT_MATCH = true";
    let text = r#""key"="value" k="a\"b""#;
    let expected = format!(r#"{text} | "key"::value | k::"a\"b""#);
    check("TRANSFORMS-a = kv", transforms, text, &expected);
}

#[test]
fn a_default_value_stands_in_where_nothing_matches() {
    let transforms = "[level]\nREGEX = level=(\\w+)\nFORMAT = level::$1\nWRITE_META = true\nDEFAULT_VALUE = level::none";
    check("TRANSFORMS-a = level", transforms, "level=low", "level=low | level::low");
    check("TRANSFORMS-a = level", transforms, "x", "x | level::none");
}

#[test]
fn regular_expressions_look_ahead_as_far_as_they_are_told() {
    let long = format!("{} END", "ä".repeat(5000));
    let end = "[end]\nREGEX = END\nDEST_KEY = queue\nFORMAT = nullQueue\n";
    check("TRANSFORMS-a = end", end, &long, &long);
    let further = format!("{end}LOOKAHEAD = 6000");
    check("TRANSFORMS-a = end", &further, &long, &format!("{long} | dropped"));
}

#[test]
fn a_clone_is_changed_and_the_original_is_not() {
    let transforms =
        "[clone]\nREGEX = (secret)=\\w+\nDEST_KEY = _raw\nFORMAT = $1=#\nCLONE_SOURCETYPE = masked";
    let (event, clones, tally) = run("TRANSFORMS-a = clone", transforms, "secret=x");
    assert_eq!(event, "secret=x");
    assert_eq!(clones, ["secret=# | sourcetype=masked"]);
    assert_eq!((tally.rules[0].cloned, tally.rules[0].changed), (1, 1));
    assert!(run("TRANSFORMS-a = clone", transforms, "other").1.is_empty());
    let own = transforms.replace("masked", "st");
    let (event, clones, _) = run("TRANSFORMS-a = clone", &own, "secret=x");
    assert_eq!((event.as_str(), clones.len()), ("secret=#", 0));
}

#[test]
fn a_clone_has_the_text_of_the_event_if_there_is_no_key_to_write() {
    for regex in
        ["REGEX = .", "REGEX = (b)\nFORMAT = $1", "SOURCE_KEY = MetaData:Host\nREGEX = web"]
    {
        let transforms = format!("[clone]\n{regex}\nCLONE_SOURCETYPE = copy");
        let (event, clones, tally) = run("TRANSFORMS-a = clone", &transforms, "a b");
        assert_eq!(event, "a b", "{regex}");
        assert_eq!(clones, ["a b | sourcetype=copy"], "{regex}");
        assert_eq!((tally.rules[0].cloned, tally.rules[0].changed), (1, 0), "{regex}");
    }
}

#[test]
fn a_default_value_without_a_key_does_not_replace_the_text() {
    for sourcetype in ["copy", "st"] {
        let transforms =
            format!("[c]\nREGEX = zz\nDEFAULT_VALUE = x\nCLONE_SOURCETYPE = {sourcetype}");
        check("TRANSFORMS-a = c", &transforms, "a b", "a b");
    }
}

#[test]
fn expressions_assign_keys_and_fields() {
    let eval = |expression: &str| format!("[e]\nINGEST_EVAL = {expression}");
    let run = |expression: &str, raw: &str, expected: &str| {
        check("TRANSFORMS-a = e", &eval(expression), raw, expected);
    };
    run("a=1, a=a+1, b:=len(_raw)", "xyz", "xyz | a::1 | a::2 | b::3");
    run("a=5, a:=a+2", "x", "x | a::7");
    run("a=mvappend(\"x\", \"y\"), n=mvcount('mv:a'), m=a, a:=null()", "r", "r | n::2 | m::x");
    run(
        "queue=if(match(_raw, \"DEBUG\"), \"nullQueue\", \"indexQueue\")",
        "DEBUG",
        "DEBUG | dropped",
    );
    run("index=if(like(_raw, \"%x%\"), \"other\", index)", "axb", "axb | index=other");
    run("_raw=replace(_raw, \"\\d\", \"#\"), host=lower(\"DB\")", "a1", "a# | host=db");
    run(
        "_time=_time+1.5, sourcetype := \"json, x\"",
        "a",
        "a | sourcetype=json, x | time=1700000001.5",
    );
    run("n[int]=7.9, s[string]=\"q\", f[float]=\"x\"", "a", "a | n::7 | s::q");
    run(
        "$field:x$=linecount, 'y z'=source, z=$pd:_raw$",
        "a\nb",
        "a\nb | x::2 | y z::/a.log | z::a\nb",
    );
    run("_raw=null(), a=null()", "kept", "kept");
    run("t=strftime(_time, \"%F\"), k='MetaData:Host'", "a", "a | t::2023-11-14 | k::host::web1");
}

#[test]
fn processing_stops_within_its_list() {
    let props = "TRANSFORMS-a = stop, after\nRULESET-b = after";
    let transforms = "[stop]\nINGEST_EVAL = a=1\nSTOP_PROCESSING_IF = match(_raw, \"x\")\n\
                      [after]\nINGEST_EVAL = b=1";
    check(props, transforms, "x", "x | a::1 | b::1");
    check(props, transforms, "y", "y | a::1 | b::1 | b::1");
}

#[test]
fn mistakes_are_errors_with_their_place() {
    let props = "TRANSFORMS-a = missing, nothing\nSEDCMD-x = s/a\nTRANSFORMS-b = fine";
    let transforms = "[bad]\nREGEX = (\nDEST_KEY = queue\nFORMAT = nullQueue\n\
        [eval]\nINGEST_EVAL = a=lowr(b)\n[key]\nREGEX = .\nDEST_KEY = nowhere\nFORMAT = x\n\
        [nothing]\nREGEX = .\n[fine]\nREGEX = .\nDEST_KEY = queue\nFORMAT = nullQueue\n\
        [pairs]\nREGEX = .\nWRITE_META = true\nFORMAT = x\n[type]\nINGEST_EVAL = a[long]=1\n\
        [off]\ndisabled = true\nINGEST_EVAL = oops(";
    let knowledge = knowledge(props, transforms);
    let shown: Vec<_> = knowledge.errors().iter().map(ToString::to_string).collect();
    for part in [
        "props.conf:2: TRANSFORMS-a names [missing]",
        "transforms.conf:11: [nothing] DEST_KEY: an index-time transform needs DEST_KEY",
        "props.conf:3: SEDCMD-x: \"s/a\" needs three /",
        "transforms.conf:2: REGEX: bad regular expression",
        "transforms.conf:6: [eval] INGEST_EVAL: unknown function 'lowr' at \"lowr\"; did you mean `lower`?",
        "transforms.conf:9: DEST_KEY = nowhere: expected one of _raw",
        "[pairs] FORMAT: expected <field>::<value>",
        "[type] INGEST_EVAL: type [long] is not known",
    ] {
        assert!(shown.iter().any(|error| error.contains(part)), "{part}\n{shown:#?}");
    }
    assert_eq!(shown.len(), 8, "{shown:#?}");
    let rules = knowledge.parsing_rules("st", "s", "h");
    assert_eq!(rules.index_time.rules().len(), 1, "what holds still runs");
}

#[test]
fn keys_of_outputs_that_do_not_exist_have_no_effect() {
    let transforms = "[syslog]\nREGEX = .\nDEST_KEY = _SYSLOG_ROUTING\nFORMAT = group\n\
        [copy]\nREGEX = .\nDEST_KEY = _SYSLOG_ROUTING\nFORMAT = group\nCLONE_SOURCETYPE = other";
    let knowledge = knowledge("TRANSFORMS-a = syslog, copy", transforms);
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
    assert!(knowledge.parsing_rules("st", "s", "h").index_time.rules().is_empty());
    let shown: Vec<_> = knowledge.warnings().iter().map(ToString::to_string).collect();
    let expected =
        "transforms.conf:3: setting DEST_KEY = _SYSLOG_ROUTING has no effect in this version";
    assert!(shown.iter().any(|warning| warning.ends_with(expected)), "{shown:#?}");
}

#[test]
fn lookups_with_settings_of_transforms_are_no_transforms() {
    let text = "[l]\nfilename = l.csv\nWRITE_META = 0\nSOURCE_KEY = _raw\n[d]\nDELIMS = \"|\"\nFIELDS = a, b\nDEST_KEY = _raw";
    let layers = Layers::builtin().with(Layer::SystemLocal, "transforms", text);
    let knowledge = Knowledge::new(layers);
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
}

#[test]
fn an_app_that_names_a_stanza_for_something_else_does_not_prevent_the_start() {
    let layers = Layers::builtin().with(
        Layer::AppDefault("ta".to_owned()),
        "props",
        "[st]\nTRANSFORMS-a = pan_traffic",
    );
    let knowledge = Knowledge::new(layers);
    assert_eq!(knowledge.fatal_errors().count(), 0);
    let errors: Vec<String> = knowledge.app_errors().map(ToString::to_string).collect();
    let expected = "apps/ta/default/props.conf:2: TRANSFORMS-a: [pan_traffic] of transforms.conf is not \
                    an index-time transform";
    assert!(errors[0].starts_with(expected), "{errors:?}");
}

#[test]
fn transforms_that_apps_name_without_bringing_them_are_built_in() {
    let hosts = "TRANSFORMS-host = syslog-host";
    let event = "Nov 20 10:00:00 db-7.example.com sshd[12]: x";
    check(hosts, "", event, &format!("{event} | host=db-7.example.com"));
    let event = "<13>Nov 20 10:00:00 local0.info [10.1.2.3] sshd: x";
    check(hosts, "", event, &format!("{event} | host=10.1.2.3"));
    check(hosts, "", "no time in it", "no time in it");
    check("TRANSFORMS-a = syslog-header-stripper-ts-host", "", "Nov 20 10:00:00 db x", "x");
    let event = "a\nb---splunk-wevt-end-of-event---\n";
    check("TRANSFORMS-a = strip-winevt-linebreaker", "", event, "a\nb");
    check("TRANSFORMS-a = set_sourcetype_to_stash", "", "x", "x | sourcetype=stash");
    check("TRANSFORMS-a = send_to_nullqueue", "", "x", "x | dropped");
    let event = "a\nwmi_hostname=PC-1";
    check("TRANSFORMS-a = wmi-override-host", "", event, &format!("{event} | host=PC-1"));
}
