//! Extraction as a whole: order, limits, fingerprints, subsets.
#![allow(clippy::unwrap_used)]
use std::sync::{Arc, LazyLock};

use conf::{Layer, Layers};
use proptest::prelude::*;

use super::*;
use crate::Knowledge;

fn knowledge(props: &str, transforms: &str) -> Knowledge {
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", props).with(
        Layer::SystemLocal,
        "transforms",
        transforms,
    );
    let knowledge = Knowledge::new(layers);
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
    knowledge
}

fn all(rules: &FieldRules, raw: &str) -> Vec<String> {
    let mut out = Vec::new();
    let _ = rules.extract(raw, &mut |name, value| out.push(format!("{name}={value}")));
    out
}

fn check(props: &str, transforms: &str, raw: &str, expected: &[&str]) {
    let rules =
        knowledge(&format!("[st]\n{props}"), transforms).field_rules("st", "/a/b.log", "web1");
    assert_eq!(all(&rules, raw), expected, "{props}");
    for wanted in expected.iter().filter_map(|field| field.split_once('=')) {
        let mut found = Vec::new();
        let names = rules.wanted([wanted.0]);
        let _ = rules
            .extract_wanted(raw, &names, &mut |name, value| found.push(format!("{name}={value}")));
        let prefix = format!("{}=", wanted.0);
        let same: Vec<_> = expected.iter().filter(|field| field.starts_with(&prefix)).collect();
        assert_eq!(found.len(), same.len(), "{wanted:?} alone: {found:?}");
        assert!(rules.may_produce(wanted.0), "{}", wanted.0);
    }
}

#[test]
fn rules_apply_in_order_and_the_first_value_stays() {
    check(
        "EXTRACT-a = x(?<f>\\d)\nREPORT-b = t\nKV_MODE = auto",
        "[t]\nREGEX = y(?<f>\\d)(?<g>\\d)",
        "x1 y23 f=4 g=5 h=6 h=7",
        &["f=1", "g=3", "h=6"],
    );
}

#[test]
fn multivalues_come_from_mv_add_and_from_arrays() {
    check(
        "REPORT-a = t\nKV_MODE = none",
        "[t]\nREGEX = (\\d)\nFORMAT = n::$1\nMV_ADD = true",
        "1 2",
        &["n=1", "n=2"],
    );
    check("KV_MODE = auto", "", r#"{"a":["x","y"],"b":1}"#, &["a{}=x", "a{}=y", "b=1"]);
}

#[test]
fn a_name_that_is_repeated_in_json_has_all_its_values() {
    let event = r#"{"a":1,"b":{"c":"x"},"a":2,"b":{"c":"y"},"a":1}"#;
    let all = ["a=1", "b.c=x", "a=2", "b.c=y", "a=1"];
    check("KV_MODE = json", "", event, &all);
    check("KV_MODE = auto", "", event, &all);
    check("KV_MODE = auto", "", "a=1 a=2", &["a=1"]);
    // A field that an earlier rule found is not changed.
    check("EXTRACT-a = a.:(?<a>\\d)\nKV_MODE = json", "", r#"{"a":1,"a":2}"#, &["a=1"]);
}

#[test]
fn dynamic_names_are_cleaned() {
    let transforms = "[t]\nREGEX = ([^=,]+):([^,]+)\nFORMAT = $1::$2";
    check("REPORT-a = t\nKV_MODE = none", transforms, "a b:1,_c.d:2", &["a_b=1", "c_d=2"]);
}

#[test]
fn rules_may_read_other_fields_and_metadata() {
    check(
        "EXTRACT-a = ^(?<uri>\\S+)\nEXTRACT-b = \\?(?<query>.*) in uri\nKV_MODE = none",
        "",
        "/x?y z",
        &["uri=/x?y", "query=y"],
    );
    check("EXTRACT-a = /(?<app>\\w+)/ in source\nKV_MODE = none", "", "x", &["app=a"]);
    let rules = knowledge(
        "[st]\nREPORT-a = t",
        "[t]\nSOURCE_KEY = MetaData:Host\nREGEX = ^(?<role>[a-z]+)",
    );
    assert_eq!(all(&rules.field_rules("st", "s", "db7"), "x"), ["role=db"]);
}

#[test]
fn a_rule_that_reads_a_multivalue_field_reads_a_line_for_each_value() {
    let transforms = "[kv]\nREGEX = Account Name:\\s+(\\S+)\nFORMAT = Account_Name::$1\nMV_ADD = true\n\
                      [second]\nSOURCE_KEY = Account_Name\nREGEX = (?:(?:[^\\n]*)\\n)?([^\\n]*)\n\
                      FORMAT = user::\"$1\"";
    let props = "REPORT-a = kv, second\nKV_MODE = none";
    let event = "Account Name: DC1 to Account Name: carol";
    check(props, transforms, event, &["Account_Name=DC1", "Account_Name=carol", "user=carol"]);
    check(props, transforms, "Account Name: DC1", &["Account_Name=DC1", "user=DC1"]);
}

#[test]
fn delimiters_split_columns() {
    check(
        "REPORT-a = t\nKV_MODE = none",
        "[t]\nDELIMS = \"\\t\"\nFIELDS = \"a\", \"b\", c.d",
        "1\t\t3\t4",
        &["a=1", "c.d=3"],
    );
}

#[test]
fn delimiters_and_columns_need_no_quotes() {
    check("REPORT-a = t\nKV_MODE = none", "[t]\nDELIMS = ,\nFIELDS = a, b", "1,2", &["a=1", "b=2"]);
    let fields = "[t]\nDELIMS = \" \"\nFIELDS = date s-ip \"c d\"";
    check("REPORT-a = t\nKV_MODE = none", fields, "1 2 3", &["date=1", "s-ip=2", "c d=3"]);
}

#[test]
fn an_alias_stays_beside_words_that_are_none() {
    let props = "[st]\nFIELDALIAS-a = a AS b c";
    let rules = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props));
    assert_eq!(all(&rules.field_rules("st", "s", "h"), "a=1"), ["a=1", "b=1"]);
    let errors: Vec<String> = rules.errors().iter().map(ToString::to_string).collect();
    assert!(errors[0].contains("\"c\" belongs to no alias"), "{errors:?}");
}

#[test]
fn aliases_add_replace_or_leave_fields() {
    check("FIELDALIAS-a = a AS b", "", "a=1", &["a=1", "b=1"]);
    check("FIELDALIAS-a = a AS b", "", "a=1 b=2", &["a=1", "b=1"]);
    check("FIELDALIAS-a = a AS b", "", "b=2", &["b=2"]);
    check("FIELDALIAS-a = a ASNEW b", "", "a=1 b=2", &["a=1", "b=2"]);
    check("FIELDALIAS-a = a ASNEW b c AS d", "", "a=1 c=3", &["a=1", "c=3", "b=1", "d=3"]);
}

#[test]
fn aliases_read_the_metadata_and_the_text_of_an_event() {
    check("FIELDALIAS-a = host AS dvc", "", "x", &["dvc=web1"]);
    check("FIELDALIAS-a = host AS dvc", "", "dvc=own", &["dvc=web1"]);
    check("FIELDALIAS-a = host ASNEW dvc", "", "x", &["dvc=web1"]);
    check("FIELDALIAS-a = host ASNEW dvc", "", "dvc=own", &["dvc=own"]);
    let several = "FIELDALIAS-a = source AS src sourcetype AS st\nFIELDALIAS-b = src AS path";
    check(several, "", "x", &["src=/a/b.log", "st=st", "path=/a/b.log"]);
    check("FIELDALIAS-a = _raw AS body", "", "x y", &["body=x y"]);
    check("FIELDALIAS-a = a AS host host AS b", "", "a=1", &["a=1", "b=web1"]);
}

#[test]
fn aliases_of_the_host_do_not_compile_the_rules_of_each_host_again() {
    let knowledge = knowledge("[st]\nEXTRACT-a = (?<a>x)\nFIELDALIAS-b = host AS dvc", "");
    let of = |host: &str| knowledge.field_rules("st", "s", host);
    let hosts = ["h1", "h2", "h1", ""].map(|host| all(&of(host), "x").join(" "));
    assert_eq!(hosts, ["a=x dvc=h1", "a=x dvc=h2", "a=x dvc=h1", "a=x"]);
    assert!(Arc::ptr_eq(&of("h1").transforms, &of("h3").transforms));
    assert!(Arc::ptr_eq(&of("h2"), &of("h2")));
    assert_ne!(of("h1").fingerprint(), of("h2").fingerprint());
}

#[test]
fn fixed_fields_are_never_produced() {
    check("KV_MODE = auto", "", r#"{"host":"x","source":"y","_raw":1,"_path":"p"}"#, &["_path=p"]);
}

#[test]
fn text_before_json_makes_it_plain_text() {
    check("", "", r#"INFO k=v {"a":1}"#, &["k=v"]);
    check("KV_MODE = json", "", r"k=v", &[]);
}

#[test]
fn limits_are_reported() {
    let limits = |kv: &str, raw: &str| {
        let layers = Layers::builtin().with(Layer::SystemLocal, "limits", &format!("[kv]\n{kv}"));
        let rules = Knowledge::new(layers).field_rules("st", "s", "h");
        rules.extract(raw, &mut |_, _| {})
    };
    let raw = "a=1 b=2 c=3";
    assert_eq!(
        limits("maxcols = 2", raw),
        Extraction { values: 2, cut: Some(ExtractionLimit::Columns), lacks_columns: true }
    );
    assert_eq!(
        limits("limit = 2", raw),
        Extraction { values: 2, cut: Some(ExtractionLimit::Automatic), lacks_columns: false }
    );
    assert_eq!(
        limits("maxchars = 8", raw),
        Extraction { values: 2, cut: Some(ExtractionLimit::Chars), lacks_columns: false }
    );
    assert_eq!(
        limits("maxcols = 3\nlimit = 3", raw),
        Extraction { values: 3, ..Extraction::default() }
    );
}

#[test]
fn fields_that_are_nested_too_deep_are_reported_if_they_are_wanted() {
    let rules = knowledge("[st]\nKV_MODE = json", "").field_rules("st", "s", "h");
    let nested = |levels: usize| {
        format!("{{\"b\":1,{}7{}", "\"a\":{".repeat(levels - 1) + "\"a\":", "}".repeat(levels))
    };
    let name = |levels: usize| vec!["a"; levels].join(".");
    let cut = |levels: usize, wanted: &str| {
        let wanted = rules.wanted([wanted]);
        rules.extract_wanted(&nested(levels), &wanted, &mut |_, _| {}).cut
    };
    assert_eq!(cut(64, &name(64)), None);
    assert_eq!(cut(65, &name(65)), Some(ExtractionLimit::Depth));
    assert_eq!(cut(65, "b"), None);
    assert_eq!(rules.extract(&nested(65), &mut |_, _| {}).cut, Some(ExtractionLimit::Depth));
    assert!(ExtractionLimit::Depth.message().contains("64 levels"));
}

#[test]
fn wanted_fields_of_json_are_those_of_the_whole_event() {
    let raw = r#"{"a":{"b":1,"c":{"d":2,"":3},"a":{"b":4}},"a.b":5,"ab":6,"o":[{"k":1,"l":[7]},{"k":2}],
        "n":[[8,9],{"x":{}}],"":{"e":10},"a":11,"t":["x","y"],"long":"v\n","b":12}"#;
    let names =
        "a a.b a.c a.c.d a.c. a.a.b ab o o{} o{}.k o{}.l{} n{}{} n{}.x .e t{} long b no a.no";
    let names: Vec<&str> = names.split(' ').collect();
    for limit in [0, 3, 9, 10_000] {
        let layers =
            Layers::builtin().with(Layer::SystemLocal, "limits", &format!("[kv]\nlimit = {limit}"));
        let rules = Knowledge::new(layers).field_rules("st", "s", "h");
        let mut whole = Vec::new();
        let cut = rules
            .extract(raw, &mut |name, value| whole.push((name.to_owned(), value.into_owned())))
            .cut;
        assert_eq!(cut.is_some(), matches!(limit, 3 | 9), "{limit}");
        for wanted in names.iter().map(|name| vec![*name]).chain([names.clone(), vec!["ab", "b"]]) {
            let mut found = Vec::new();
            let prepared = rules.wanted(wanted.iter().copied());
            let extraction = rules.extract_wanted(raw, &prepared, &mut |name, value| {
                found.push((name.to_owned(), value.into_owned()));
            });
            let expected: Vec<_> =
                whole.iter().filter(|(name, _)| wanted.contains(&name.as_str())).cloned().collect();
            assert_eq!(found, expected, "{wanted:?} {limit}");
            assert_eq!(extraction.cut, cut, "{wanted:?} {limit}");
        }
    }
}

#[test]
fn a_million_fields_end_at_the_limit_or_take_linear_time() {
    let raw: String = (0..1_000_000).map(|n| format!("k{n}=1 ")).collect();
    let rules = knowledge("", "").field_rules("st", "s", "h");
    let done = rules.extract(&raw, &mut |_, _| {});
    assert!(done.cut.is_some() && done.values <= 10_000);
    let open = Layers::builtin().with(
        Layer::SystemLocal,
        "limits",
        "[kv]\nmaxcols = 0\nlimit = 0\nmaxchars = 0",
    );
    let rules = Knowledge::new(open).field_rules("st", "s", "h");
    assert_eq!(
        rules.extract(&raw, &mut |_, _| {}),
        Extraction { values: 1_000_000, ..Extraction::default() }
    );
}

#[test]
fn the_fingerprint_follows_the_rules_and_nothing_else() {
    let print = |props: &str, transforms: &str, source: &str| {
        knowledge(props, transforms).field_rules("st", source, "h").fingerprint()
    };
    let base = print("[st]\nREPORT-a = t", "[t]\nREGEX = (?<a>x)", "s");
    assert_eq!(base, print("[st]\nREPORT-a = t\nTRUNCATE = 5", "[t]\nREGEX = (?<a>x)", "other"));
    assert_ne!(base, print("[st]\nREPORT-a = t", "[t]\nREGEX = (?<a>y)", "s"));
    assert_ne!(base, print("[st]\nREPORT-b = t", "[t]\nREGEX = (?<a>x)", "s"));
    let reads = "[st]\nEXTRACT-a = (?<a>x) in source";
    assert_ne!(print(reads, "", "s"), print(reads, "", "other"));
    assert_eq!(
        Knowledge::builtin().field_rules("plain", "s", "h").fingerprint(),
        12_784_310_775_830_103_396
    );
}

#[test]
fn the_last_value_of_an_audit_record_ends_before_the_chain() {
    let rules = Knowledge::builtin().field_rules("audittrail", "audittrail", "h");
    let (prev, hash) = ("3".repeat(64), "b".repeat(64));
    // The last value is unquoted in old records, and a quoted value may contain text that looks like one.
    for last in [
        "search=failed",
        "search=\"failed\"",
        "x=\"a, search=no][prev=1 hash=2]\", search=\"failed\"",
    ] {
        let raw = format!(
            "Audit:[timestamp=\"11-22-2026 10:15:00.123 +0000\", seq=7, user=ann, action=search, \
             {last}][prev={prev} hash={hash}]"
        );
        let found = all(&rules, &raw);
        let chain = [format!("prev={prev}"), format!("hash={hash}")];
        for expected in ["seq=7", "user=ann", "search=failed", &*chain[0], &*chain[1]] {
            assert!(found.iter().any(|field| field == expected), "{expected}: {found:?}");
        }
        assert_eq!(
            found.iter().filter(|field| field.starts_with("search=")).count(),
            1,
            "{found:?}"
        );
    }
}

#[test]
fn wanted_fields_come_without_the_rules_they_do_not_need() {
    let rules = knowledge("[st]\nEXTRACT-a = (?<a>1)\nEXTRACT-b = (?<b>2)\nKV_MODE = none", "")
        .field_rules("st", "s", "h");
    let wanted = rules.wanted(["b"]);
    assert_eq!(wanted.transforms, [false, true]);
    assert!(!rules.may_produce("c"));
    assert!(!rules.is_dynamic());
    assert_eq!(rules.names(), ["a", "b"]);
}

#[test]
fn calculated_fields_are_handed_to_the_planner() {
    let knowledge = knowledge("[st]\nEVAL-b = a+1\nEVAL-a = 1", "");
    let rules = knowledge.field_rules("st", "s", "h");
    assert_eq!(
        rules.evals(),
        [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "a+1".to_owned())]
    );
    let aliases =
        "[st]\nEVAL-c = 1\nFIELDALIAS-a = index AS idx _time ASNEW t a AS b _time AS host";
    let found: Vec<_> = self::knowledge(aliases, "").calculated_fields();
    let found: Vec<_> =
        found.iter().map(|one| format!("{}={}", one.field, one.expression)).collect();
    assert_eq!(found, ["c=1", "idx=index", "t=coalesce('t', _time)"]);
    let fields = knowledge.calculated_fields();
    assert_eq!(fields.len(), 2);
    assert!(fields[0].matcher.matches("st", "s", "h") && !fields[0].matcher.matches("x", "s", "h"));
}

/// Returns the rules of `[st]` with each of these settings, compiled once for all cases of a property.
fn compiled(settings: &[&str]) -> Vec<Arc<FieldRules>> {
    let rules = |text: &&str| knowledge(&format!("[st]\n{text}"), "").field_rules("st", "s", "h");
    settings.iter().map(rules).collect()
}

static ALIASED: LazyLock<Vec<Arc<FieldRules>>> = LazyLock::new(|| {
    compiled(&[
        "EXTRACT-x = a=(?<d>\\d)\nEXTRACT-y = (?<e>\\d)$ in b\nFIELDALIAS-z = a AS c b ASNEW f",
    ])
});

static MODES: LazyLock<Vec<Arc<FieldRules>>> = LazyLock::new(|| {
    compiled(&[
        "KV_MODE = auto\nEXTRACT-a = (?<a>.)(?=.)",
        "KV_MODE = auto_escaped",
        "KV_MODE = json",
        "KV_MODE = xml",
        "KV_MODE = none\nEXTRACT-a = (?<a>.)(?=.)",
    ])
});

proptest! {
    #[test]
    fn wanted_fields_are_those_of_the_whole_extraction(
        raw in "([a-d]=[0-9]{1,2}[ ,;]){0,8}|\\{\"a\":[0-9],\"b\":\\[1,2\\]\\}"
    ) {
        let rules = &ALIASED[0];
        let whole = all(rules, &raw);
        for name in ["a", "b", "c", "d", "e", "f", "b{}"] {
            let mut found = Vec::new();
            let wanted = rules.wanted([name]);
            let _ = rules.extract_wanted(&raw, &wanted, &mut |name, value| {
                found.push(format!("{name}={value}"));
            });
            let prefix = format!("{name}=");
            let expected: Vec<String> =
                whole.iter().filter(|field| field.starts_with(&prefix)).cloned().collect();
            prop_assert_eq!(found, expected, "{}", &raw);
        }
    }

    #[test]
    fn any_text_is_survived(raw in "\\PC{0,80}|<[a-z<>/= \"&;]{0,40}") {
        for rules in MODES.iter() {
            let _ = all(rules, &raw);
        }
    }
}

#[test]
fn tables_give_the_values_of_each_column() {
    check(
        "KV_MODE = multi",
        "",
        "USER   PID  COMMAND\nroot     1  init\nwww     22  nginx\n",
        &["USER=root", "PID=1", "COMMAND=init", "USER=www", "PID=22", "COMMAND=nginx"],
    );
    check(
        "KV_MODE = multi_tsv",
        "",
        "cpu\tname\n1\tmain thread\n2\tother\n",
        &["cpu=1", "name=main thread", "cpu=2", "name=other"],
    );
}

#[test]
fn windows_events_as_text_have_fields_without_configuration_of_ones_own() {
    check(
        "KV_MODE = none\nREPORT-windows = wel-message, wel-eq-kv, wel-col-kv",
        "",
        "07/14/2026 10:11:12 PM\r\nLogName=Security\r\nEventCode=4624\r\nMessage=An account was logged on.\r\n\r\n\
         Subject:\r\n\tSecurity ID:\t\tSYSTEM\r\n\tAccount Name:\t\tHOST$\r\n\r\nNew Logon:\r\n\tAccount Name:\t\talice",
        &[
            "_pre_msg=07/14/2026 10:11:12 PM\r\nLogName=Security\r\nEventCode=4624",
            "Message=An account was logged on.\r\n\r\nSubject:\r\n\tSecurity ID:\t\tSYSTEM\r\n\tAccount \
             Name:\t\tHOST$\r\n\r\nNew Logon:\r\n\tAccount Name:\t\talice",
            "LogName=Security",
            "EventCode=4624",
            "Security_ID=SYSTEM",
            "Account_Name=HOST$",
            "Account_Name=alice",
        ],
    );
}

#[test]
fn an_add_on_that_renames_the_extraction_of_windows_events_finds_each_value_once() {
    let event = "07/14/2026 10:11:12 PM\nLogName=Security\nEventCode=4624\nType=Information\n\
                 ComputerName=dc1\nMessage=Logged on.\n\nSubject:\n\tAccount Name:\t\tDC1$\n";
    let found = |props: &str, transforms: &str| {
        let rules = knowledge(props, transforms).field_rules("WinEventLog", "/a/b.log", "web1");
        let mut found = all(&rules, event);
        found.retain(|field| !field.starts_with("_pre_msg=") && !field.starts_with("Message="));
        found.sort();
        found
    };
    let expected = [
        "Account_Name=DC1$",
        "ComputerName=dc1",
        "EventCode=4624",
        "LogName=Security",
        "Type=Information",
        "level=Information",
    ];
    assert_eq!(found("", ""), expected);
    let transforms = "[wel-message]\nREGEX = (?sm)^(?<_pre_msg>.+)\\nMessage=(?<Message>.+)$\n\
                      [wel-eq-kv]\nSOURCE_KEY = _pre_msg\nDELIMS = \"\\n\", \"=\"\nMV_ADD = true\n\
                      [wel-col-kv]\nSOURCE_KEY = Message\nREGEX = \\n([^:\\n\\r]+):[ \\t]+([^\\n]*)\n\
                      FORMAT = $1::$2\nMV_ADD = true\n";
    let props =
        "[WinEventLog]\nREPORT-0MESSAGE = wel-message, wel-eq-kv, wel-col-kv\nREPORT-MESSAGE =\n";
    assert_eq!(found(props, transforms), expected);
    // An event without a message has the fields of its header, too.
    let rules = knowledge("", "").field_rules("WinEventLog", "/a/b.log", "web1");
    let mut of_header = all(&rules, "07/14/2026 10:11:12 PM\nLogName=System\nEventCode=7");
    of_header.retain(|field| !field.starts_with("_pre_msg="));
    assert_eq!(of_header, ["LogName=System", "EventCode=7"]);
}

#[test]
fn extractions_that_apps_name_without_bringing_them_are_built_in() {
    let named = |name: &str| format!("KV_MODE = none\nREPORT-a = {name}");
    let event = "dn=CN=a\r\nmemberOf=one\r\nmemberOf=two";
    check(&named("ad-kv"), "", event, &["dn=CN=a", "memberOf=one", "memberOf=two"]);
    let event = "collection=cpu\r\nobject=Processor\r\nValue=1.5";
    check(&named("perfmon-kv"), "", event, &["collection=cpu", "object=Processor", "Value=1.5"]);
    check(&named("colon-line"), "", "Name: a b\nId : 7", &["Name=a b", "Id=7"]);
    check(&named("colon-kv"), "", "x Count: 12 Flags: 0xFF", &["Count=12", "Flags=0xFF"]);
    check(&named("bracket-space"), "", "[user ann] [id 7]", &["user=ann", "id=7"]);
    let event = "10:00 10.0.0.1:80 -> 10.0.0.2:443";
    let found = ["src_ip=10.0.0.1", "src_port=80", "dest_ip=10.0.0.2", "dest_port=443"];
    check(&named("tcpdump-endpoints"), "", event, &found);
    check(&named("loglevel"), "", "12:00 WARN x", &["loglevel=WARN"]);
    check(&named("stash_extract"), "", "a=1, b c=2", &["a=1", "b c=2"]);
}
