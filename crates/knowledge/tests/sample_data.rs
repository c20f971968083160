//! Tests with the real logs of the sample data: their source types, the time of every event, and typical
//! fields.
//!
//! The data is in a directory beside the repository, or in that of `KARST_TEST_DATA`; without it, the tests
//! print "skipped". Expected times were computed by an independent program for a reference of
//! 2026-11-20T12:00:00Z (which decides the year of logs without one).
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use karst_knowledge::timestamp::TimestampFinder;
use karst_knowledge::{Knowledge, ParsingRules};
use model::EventTime;

const REFERENCE: EventTime = EventTime(1_795_176_000_000_000);

/// File, source type, events, time of the first and of the last event, and the sum of all times
/// modulo 1,000,000,007, all in microseconds.
#[rustfmt::skip]
const FILES: &[(&str, &str, usize, i64, i64, i64)] = &[
    ("auth/auth.log", "linux_secure", 7121, 1774616816000000, 1776694469000000, 997866813),
    ("cloudtrail/cloudtrail.json", "aws:cloudtrail", 394, 1688990079000000, 1688990317000000, 745764936),
    ("loghub/Android.log", "android", 2000, 1773764018811000, 1773764169141000, 593761789),
    ("loghub/Apache.log", "apache_error", 2000, 1133671664000000, 1133810157000000, 576680999),
    ("loghub/BGL.log", "bgl", 2000, 1117838570675872, 1136301189127918, 346780986),
    ("loghub/HDFS.log", "hdfs", 2000, 1226262975000000, 1226398817000000, 170151443),
    ("loghub/HPC.log", "hpc", 2000, 1077804742000000, 1134671139000000, 761517234),
    ("loghub/Hadoop.log", "hadoop", 2000, 1445191307978000, 1445191855202000, 174795195),
    ("loghub/HealthApp.log", "healthapp", 2000, 1514067329606000, 1514077355789000, 288323928),
    ("loghub/Linux.log", "linux_secure", 2000, 1781450161000000, 1785163320000000, 957910218),
    ("loghub/Mac.log", "syslog", 2000, 1782896455000000, 1783498246000000, 350175808),
    ("loghub/OpenSSH.log", "linux_secure", 2000, 1765349746000000, 1765364685000000, 209952286),
    ("loghub/OpenStack.log", "openstack", 2000, 1494892800008000, 1494893687687000, 772493675),
    ("loghub/Proxifier.log", "proxifier", 2000, 1793378946000000, 1785147822000000, 646178229),
    ("loghub/Spark.log", "spark", 2000, 1497039040000000, 1497039071000000, 985453300),
    ("loghub/Thunderbird.log", "thunderbird", 2000, 1131566461000000, 1131567332000000, 545063561),
    ("loghub/Windows.log", "windows_cbs", 2000, 1475037030000000, 1475114680000000, 874920446),
    ("loghub/Zookeeper.log", "zookeeper", 2000, 1438191704747000, 1439230354004000, 302060853),
    ("web/apache_access.log", "access_combined", 10000, 1431857103000000, 1432155915000000, 25551300),
    ("web/nginxplus.json", "_json", 500, 1446249499322000, 1446252053399000, 513027319),
    ("windows/sysmon_security.json", "windows:json", 869, 1596607769626000, 1596607841077000, 507079754),
    ("zeek/ftp.log", "zeek:ftp:tsv", 93, 1521911724699488, 1521912052813450, 363421890),
    ("zeek/notice.json", "zeek:json", 207, 1521911720629574, 1521912978124315, 470845201),
    ("zeek/ntlm.json", "zeek:json", 422, 1521911721608646, 1521912706176335, 150835434),
    ("zeek/smb_mapping.log", "zeek:smb_mapping:tsv", 393, 1521911721382822, 1521912784792150, 747809418),
    ("zeek/smtp.json", "zeek:json", 1188, 1521911721789543, 1521912436069333, 514737880),
    ("zeek/ssh.json", "zeek:json", 22, 1521911799739898, 1521912984947911, 806890648),
    ("zeek/ssh.log", "zeek:ssh:tsv", 22, 1521911799739898, 1521912984947911, 806890648),
    ("zeek/x509.json", "zeek:json", 348, 1521911720624556, 1521912980135735, 925904408),
];

fn data() -> Option<PathBuf> {
    let beside = "../../../shared/data";
    let root = std::env::var_os("KARST_TEST_DATA").map_or_else(|| beside.into(), PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: no sample data");
    None
}

fn read(root: &std::path::Path, file: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(root.join(file)).unwrap()).into_owned()
}

/// Returns the events of a whole source, cut by the line rules.
fn events<'a>(text: &'a str, rules: &ParsingRules) -> Vec<&'a str> {
    let mut events = Vec::new();
    let mut from = 0;
    loop {
        let gap = rules.line_breaker.next_gap(text, from, true);
        let (end, next) = gap.unwrap_or((text.len(), text.len()));
        let event = &text[from..end];
        let dropped = rules.preamble.as_ref().is_some_and(|pattern| pattern.is_match(event));
        if !event.trim().is_empty() && !dropped {
            events.push(event);
        }
        if gap.is_none() {
            return events;
        }
        from = next;
    }
}

#[test]
fn every_file_has_its_source_type_events_and_times() {
    let Some(root) = data() else { return };
    let knowledge = Knowledge::builtin();
    let mut wrong = Vec::new();
    for (file, sourcetype, count, first, last, sum) in FILES {
        let text = read(&root, file);
        let sample = &text[..text.floor_char_boundary(16 * 1024)];
        let found_type = knowledge.sourcetype(file, sample);
        let rules = knowledge.parsing_rules(&found_type, file, "h");
        let events = events(&text, &rules);
        let mut finder = TimestampFinder::new(rules.timestamp.clone());
        let times: Vec<i64> =
            events.iter().map(|raw| finder.find(raw, REFERENCE).map_or(0, |time| time.0)).collect();
        let found_sum = times.iter().fold(0i64, |sum, time| (sum + time) % 1_000_000_007);
        let found = (found_type.as_str(), times.len(), times[0], times[times.len() - 1], found_sum);
        if found != (*sourcetype, *count, *first, *last, *sum) {
            let missing = times.iter().position(|time| *time == 0).map(|at| events[at]);
            wrong.push(format!("{file}: {found:?}, first without a time: {missing:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests that times of common formats are recognised even without the built-in source types.
#[test]
fn common_formats_need_no_source_type() {
    let Some(root) = data() else { return };
    let knowledge = Knowledge::builtin();
    let special = ["bgl"];
    let mut wrong = Vec::new();
    for (file, sourcetype, _, first, last, sum) in FILES {
        if special.contains(sourcetype) {
            continue;
        }
        let text = read(&root, file);
        let cut = knowledge.parsing_rules(sourcetype, file, "h");
        let mut finder = TimestampFinder::new(ParsingRules::default().timestamp);
        let times: Vec<i64> = events(&text, &cut)
            .iter()
            .map(|raw| finder.find(raw, REFERENCE).map_or(0, |time| time.0))
            .collect();
        let found_sum = times.iter().fold(0i64, |sum, time| (sum + time) % 1_000_000_007);
        if (times[0], times[times.len() - 1], found_sum) != (*first, *last, *sum) {
            let none = times.iter().filter(|time| **time == 0).count();
            wrong.push(format!("{file}: {none} of {} without a time", times.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fields(sourcetype: &str, raw: &str) -> BTreeMap<String, Vec<String>> {
    let rules = Knowledge::builtin().field_rules(sourcetype, "s", "h");
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let done = rules.extract(raw, &mut |name, value| {
        fields.entry(name.to_owned()).or_default().push(value.into_owned());
    });
    assert_eq!(done.cut, None);
    fields
}

/// Checks fields of the first event of a file.
fn check(file: &str, expected: &[(&str, &str)]) {
    let Some(root) = data() else { return };
    let text = read(&root, file);
    let (_, sourcetype, ..) = FILES.iter().find(|(name, ..)| *name == file).unwrap();
    let rules = Knowledge::builtin().parsing_rules(sourcetype, file, "h");
    let found = fields(sourcetype, events(&text, &rules)[0]);
    for (name, value) in expected {
        assert_eq!(
            found.get(*name).map(|v| v.join("|")).as_deref(),
            Some(*value),
            "{file}: {name}"
        );
    }
}

#[test]
fn web_access_logs_have_splunks_fields() {
    check(
        "web/apache_access.log",
        &[
            ("clientip", "83.149.9.216"),
            ("ident", "-"),
            ("user", "-"),
            ("method", "GET"),
            ("req_time", "17/May/2015:10:05:03 +0000"),
            ("version", "HTTP/1.1"),
            ("status", "200"),
            ("uri", "/presentations/logstash-monitorama-2013/images/kibana-search.png"),
            ("uri_path", "/presentations/logstash-monitorama-2013/images/kibana-search.png"),
            ("bytes", "203023"),
            ("referer_domain", "http://semicomplete.com"),
        ],
    );
}

#[test]
fn syslog_has_process_and_pid() {
    check("auth/auth.log", &[("process", "sshd"), ("pid", "1291")]);
    check("loghub/Mac.log", &[("process", "kernel"), ("pid", "0")]);
}

#[test]
fn json_has_paths_and_exact_numbers() {
    check(
        "cloudtrail/cloudtrail.json",
        &[("userIdentity.type", "IAMUser"), ("eventName", "GetUser"), ("awsRegion", "us-east-1")],
    );
    check("zeek/smtp.json", &[("path{}", "10.47.8.208|10.164.94.120"), ("id.resp_p", "25")]);
    check(
        "windows/sysmon_security.json",
        &[("Keywords", "-9214364837600034816"), ("EventID", "5156")],
    );
}

#[test]
fn zeek_columns_have_the_names_of_the_header() {
    check(
        "zeek/ftp.log",
        &[("id.orig_h", "10.164.94.120"), ("command", "PASV"), ("reply_code", "227")],
    );
}

#[test]
fn the_other_systems_have_their_fields() {
    check(
        "loghub/HDFS.log",
        &[("thread", "148"), ("level", "INFO"), ("class", "dfs.DataNode$PacketResponder")],
    );
    check("loghub/OpenStack.log", &[("status", "200"), ("method", "GET"), ("level", "INFO")]);
    check("loghub/Zookeeper.log", &[("class", "FastLeaderElection"), ("line", "774")]);
    check("loghub/Hadoop.log", &[("thread", "main"), ("level", "INFO")]);
    check(
        "loghub/BGL.log",
        &[("node", "R02-M1-N0-C:J12-U11"), ("component", "KERNEL"), ("level", "INFO")],
    );
    check("loghub/Proxifier.log", &[("dest", "proxy.cse.cuhk.edu.hk"), ("dest_port", "5070")]);
    check("loghub/Android.log", &[("pid", "1702"), ("tag", "WindowManager")]);
    check("loghub/HPC.log", &[("node", "node-246"), ("component", "unix.hw")]);
    check("loghub/Thunderbird.log", &[("node", "dn228"), ("process", "crond"), ("pid", "2915")]);
    check("loghub/Windows.log", &[("level", "Info"), ("component", "CBS")]);
    check("loghub/HealthApp.log", &[("component", "Step_LSC"), ("pid", "30002312")]);
    check(
        "loghub/Spark.log",
        &[("level", "INFO"), ("class", "executor.CoarseGrainedExecutorBackend")],
    );
    check("loghub/Apache.log", &[("level", "notice")]);
}
