//! The source types that are recognised by their first lines.
//!
//! All patterns are matched in one pass over each line. They are compiled when the first source needs them,
//! and are byte patterns without Unicode classes.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// Source type, pattern of its lines, and the percentage of lines that must match. Indented lines, which
/// continue the previous line, are not counted. The first match decides: special formats come before general
/// ones.
pub(super) const CONTENT: &[(&str, &str, usize)] = &[
    // JSON.
    ("aws:cloudtrail", r#"^\s*\{\s*(?:"Records"\s*:\s*\[\s*\{\s*)?"eventVersion"\s*:"#, 50),
    ("otlp:logs", r#"^\{"resourceLogs"\s*:"#, 50),
    ("otlp:traces", r#"^\{"resourceSpans"\s*:"#, 50),
    ("otlp:metrics", r#"^\{"resourceMetrics"\s*:"#, 50),
    ("kube:audit", r#"^\{"kind":"Event","apiVersion":"audit\.k8s\.io/"#, 50),
    ("journald", r#"^\s*\{.*"__(?:REALTIME_TIMESTAMP|CURSOR)"\s*:"#, 50),
    ("mongod:json", r#"^\{"t":\s*\{"\$date":"#, 50),
    ("suricata", r#"^\{"timestamp"\s*:.*"event_type"\s*:\s*""#, 50),
    ("cloudflare:json", r#"^\{.*"(?:EdgeStartTimestamp|RayID)"\s*:"#, 50),
    ("o365:management:activity", r#"^\{.*"CreationTime"\s*:.*"Workload"\s*:"#, 50),
    ("OktaIM2:log", r#"^\{.*"eventType"\s*:.*"published"\s*:"#, 50),
    ("zeek:json", r#"^\{.*"(?:_path|_write_ts)"\s*:"#, 50),
    ("zeek:json", r#"^\{"ts":[^,]+,"uid":"C"#, 50),
    (
        "windows:json",
        r#"^\{.*"(?:EventID|EventRecordID)"\s*:.*"(?:Channel|ProviderGuid|Provider)"\s*:"#,
        50,
    ),
    (
        "windows:json",
        r#"^\{.*"(?:Channel|ProviderGuid|Provider)"\s*:.*"(?:EventID|EventRecordID)"\s*:"#,
        50,
    ),
    ("_json", r#"^\s*\{\s*(?:"|\}\s*$)"#, 60),
    // Windows.
    ("XmlWinEventLog", r"^\s*<Event xmlns=", 50),
    ("WinEventLog", r"^LogName=\S", 1),
    ("windows_cbs", r"^\d{4}-\d\d-\d\d [\d:]{8}, \w+ +(?:CBS|CSI) ", 50),
    ("WindowsUpdateLog", r"^\d{4}/\d\d/\d\d [\d:]{8}\.\d{7} \d+ +\d+ +\w", 50),
    ("mssql:errorlog", r"^\d{4}-\d\d-\d\d [\d:]{8}\.\d\d (?:spid\d+s?|Server|Logon|Backup) ", 30),
    // Web servers and proxies.
    (
        "aws:s3:accesslogs",
        r#"^[0-9a-f]{20,64} \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] \S+ \S+ \S+ (?:REST|WEBSITE|BATCH|S3)\."#,
        50,
    ),
    (
        "aws:elb:accesslogs",
        r"^(?:https?|h2|wss?|grpcs?) \d{4}-\d\d-\d\dT[\d:.]+Z (?:app|net)/\S+ \S+:\d+ ",
        50,
    ),
    (
        "aws:elb:accesslogs",
        r#"^\d{4}-\d\d-\d\dT[\d:.]+Z \S+ [\d.]+:\d+ (?:[\d.]+:\d+|-) (?:-?[\d.]+ ){3}\d+ "#,
        50,
    ),
    (
        "access_combined_vhost",
        r#"^\S+:\d+ \S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d{3} (?:\d+|-)"#,
        60,
    ),
    (
        "access_combined",
        r#"^\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d{3} (?:\d+|-) ""#,
        60,
    ),
    (
        "access_common",
        r#"^\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d{3} (?:\d+|-)\s*$"#,
        60,
    ),
    ("werkzeug", r#"^\S+ \S+ \S+ \[\d\d/\w{3}/\d{4} [\d:]{8}\] "[^"]*" \d{3} "#, 60),
    ("apache_error", r"^\[\w{3} \w{3} +\d+ [\d:.]+ \d{4}\] \[", 50),
    ("nginx:plus:error", r"^\d{4}/\d\d/\d\d [\d:]{8} \[\w+\] \d+#\d+: ", 30),
    ("envoy:access", r#"^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] "[^"]*" \d{1,3} \S+ "#, 50),
    ("squid:access", r"^\d{9,10}\.\d{3} +\d+ \S+ [A-Z_]+/\d{3} \d+ [A-Z]+ ", 50),
    ("uwsgi", r"^\[pid: \d+\|app: ", 30),
    ("gunicorn", r"^\[\d{4}-\d\d-\d\d [\d:]{8} [+-]\d{4}\] \[\d+\] \[[A-Z]+\] ", 30),
    ("php_error", r"^\[\d\d-\w{3}-\d{4} [\d:]{8} [\w/]+\] PHP ", 20),
    ("php-fpm", r"^\[\d\d-\w{3}-\d{4} [\d:]{8}\] (?:NOTICE|WARNING|ERROR|ALERT|DEBUG): ", 50),
    (
        "monolog",
        r"^\[\d{4}-\d\d-\d\d[ T][\d:.+-]+\] [\w-]+\.(?:DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY): ",
        10,
    ),
    // Containers.
    (
        "kube:container",
        r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ",
        50,
    ),
    ("klog", r"^[DIWEF](?:\d{4}|\d{8}) \d\d:\d\d:\d\d\.\d+ +\d+ [\w.-]+:\d+\] ", 20),
    ("coredns", r#"^\[(?:INFO|ERROR|WARNING)\] (?:\S+:\d+ - \d+ "|plugin/)"#, 50),
    // Databases and queues.
    ("mysql:slowQueryLog", r"^# (?:Time: |User@Host: |Query_time: )", 20),
    (
        "mysqld_error",
        r"^\d{4}-\d\d-\d\d[ T][\d:.]+(?:Z|[+-]\d\d:\d\d)? \d+ \[(?:System|Warning|ERROR|Error|Note)\] ",
        30,
    ),
    (
        "mysql:generalQueryLog",
        r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)\t *\d+ (?:Query|Connect|Quit|Prepare|Execute|Init DB|Close stmt)\b",
        30,
    ),
    (
        "postgresql:csv",
        r#"^\d{4}-\d\d-\d\d [\d:.]{8,12} \w+,(?:"[^"]*")?,(?:"[^"]*")?,\d+,(?:"[^"]*")?,[0-9a-f]+\.[0-9a-f]+,\d+,"#,
        30,
    ),
    (
        "postgresql",
        r"^\d{4}-\d\d-\d\d [\d:.]{8,12} [A-Z]+[ :].*\b(?:LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|DETAIL|HINT|STATEMENT|CONTEXT): ",
        20,
    ),
    ("mongod", r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d{4}) [DIWEF]\d? +[A-Z-]+ +\[", 50),
    ("redis", r"^\d+:[XCSM] \d\d \w{3} \d{4} [\d:.]+ [.*#-] ", 50),
    ("elasticsearch", r"^\[\d{4}-\d\d-\d\dT[\d:,]+\]\[[A-Z]+ *\]\[[\w.$]+ *\]", 20),
    ("rabbitmq", r"^\d{4}-\d\d-\d\d [\d:.]+(?:[+-]\d\d:\d\d)? \[\w+\] <[\d.]+> ", 20),
    (
        "cassandra",
        r"^(?:TRACE|DEBUG|INFO|WARN|ERROR) +\[[^\]]+\] \d{4}-\d\d-\d\d [\d:,]+ \w+\.java:\d+ - ",
        20,
    ),
    ("ibm:mq:errlog", r"^\d\d[./]\d\d[./]\d{2,4} [\d:]{8}(?: [AP]M)? - Process\(", 5),
    ("db2_diag", r"^\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d{6}[+-]\d{3} +\w+ +LEVEL: ", 5),
    ("oracle:listener:text", r"^\d\d-[A-Z]{3}-\d{4} [\d:]{8} \* ", 30),
    (
        "oracle:alert:text",
        r"^(?:ORA-\d{5}: |Thread \d+ advanced to log sequence |Starting ORACLE instance|Completed: ALTER DATABASE)",
        5,
    ),
    // Java.
    ("hdfs", r"^\d{6} \d{6} \d+ (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) dfs\.", 50),
    (
        "zookeeper",
        r"^\d{4}-\d\d-\d\d [\d:,]+ - (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +\[.*@\d+\]",
        50,
    ),
    (
        "hadoop",
        r"^\d{4}-\d\d-\d\d [\d:,]+ (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) \[.*\] org\.apache\.hadoop\.",
        50,
    ),
    ("fail2ban", r"^\d{4}-\d\d-\d\d [\d:,]+ fail2ban\.\w+ +\[\d+\]: ", 50),
    (
        "log4j",
        r"^\[?\d{4}-\d\d-\d\d[ T][\d:]+[,.]\d{3}\]? (?:- )?(?:\[[^\]]*\] )?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b",
        15,
    ),
    (
        "spring_boot",
        r"^\d{4}-\d\d-\d\d[ T][\d:.]+(?:Z|[+-]\d\d:\d\d)? +(?:TRACE|DEBUG|INFO|WARN|ERROR) \d+ --- \[",
        15,
    ),
    ("tomcat:runtime:log", r"^\d\d-\w{3}-\d{4} [\d:]{8}\.\d{3} [A-Z]+ \[[^\]]*\] ", 15),
    ("java_util_logging", r"^\w{3} \d{1,2}, \d{4} \d{1,2}:\d\d:\d\d [AP]M [\w.$]+ \S", 15),
    ("websphere_trlog", r"^\[\d{1,2}/\d{1,2}/\d\d \d{1,2}:\d\d:\d\d:\d{3} \w+\] [0-9a-f]{8} ", 15),
    ("weblogic_stdout", r"^<\w{3} \d{1,2}, \d{4} \d{1,2}:\d\d:\d\d.* \w+> <\w+> <", 15),
    ("jenkins", r"^\d{4}-\d\d-\d\d [\d:.]+[+-]\d{4} \[id=\d+\]\t", 15),
    (
        "jvm_gc",
        r"^\[\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4}\](?:\[[^\]]+\])*\[\w+ *\]\[\w+[\w,]* *\] ",
        30,
    ),
    ("spark", r"^\d\d/\d\d/\d\d [\d:]{8} (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) [\w.$]+: ", 50),
    // Other languages.
    (
        "python",
        r"^\d{4}-\d\d-\d\d [\d:]{8},\d{3} - [\w.]+ - (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - ",
        10,
    ),
    (
        "python",
        r"^\d{4}-\d\d-\d\d [\d:]{8},\d{3} (?:\S+ ){0,2}(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b",
        10,
    ),
    ("ruby_logger", r"^[DIWEFA], \[\d{4}-\d\d-\d\dT[\d:.]+ #\d+\] +[A-Z]+ -- ", 15),
    (
        "zap",
        r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d{4})\t(?:DEBUG|INFO|WARN|ERROR|DPANIC|PANIC|FATAL)\t",
        15,
    ),
    // Security devices.
    ("pan:traffic", r"^.{0,80}\b\d,\d{4}/\d\d/\d\d [\d:]{8},\w+,TRAFFIC,", 50),
    ("pan:threat", r"^.{0,80}\b\d,\d{4}/\d\d/\d\d [\d:]{8},\w+,THREAT,", 50),
    ("pan:system", r"^.{0,80}\b\d,\d{4}/\d\d/\d\d [\d:]{8},\w+,SYSTEM,", 50),
    ("pan:log", r"^.{0,80}\b\d,\d{4}/\d\d/\d\d [\d:]{8},\w+,(?:TRAFFIC|THREAT|SYSTEM|CONFIG),", 50),
    ("cisco:asa", r"%(?:ASA|PIX|FTD|FWSM)-\d-\d{6}: ", 50),
    ("cisco:ios", r"%[A-Z][A-Z0-9_]+(?:-[A-Z0-9_]+)*-[0-7]-[A-Z0-9_]+: ", 50),
    ("fgt_log", r"\bdate=\d{4}-\d\d-\d\d time=[\d:]{8} .*\b(?:devid|devname|logid)=", 50),
    ("cef", r"^(?:.{0,120} )?CEF:\d\|[^|]*\|[^|]*\|", 50),
    ("leef", r"^(?:.{0,120} )?LEEF:[12]\.0\|[^|]*\|[^|]*\|", 50),
    ("snort", r"^\d\d/\d\d(?:/\d\d)?-[\d:.]+ +\[\*\*\] \[\d+:\d+:\d+\] ", 50),
    ("linux_audit", r"^(?:node=\S+ )?type=\w+ msg=audit\(\d+\.\d+:\d+\): ", 50),
    // Services over syslog.
    (
        "haproxy:http",
        r"\bhaproxy\[\d+\]: \S+:\d+ \[[^\]]+\] \S+ \S+ [-+\d]+(?:/[-+\d]+){4} (?:-1|\d{3}) \+?\d+ ",
        30,
    ),
    (
        "haproxy:tcp",
        r"\bhaproxy\[\d+\]: \S+:\d+ \[[^\]]+\] \S+ \S+ [-+\d]+(?:/[-+\d]+){2} \+?\d+ \S\S ",
        30,
    ),
    (
        "postfix_syslog",
        r"^(?:<\d+>)?(?:\w{3} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.+Z-]+) \S+ postfix[/\w-]*\[\d+\]: ",
        80,
    ),
    ("sendmail_syslog", r"^(?:<\d+>)?\w{3} +\d+ [\d:]{8} \S+ (?:sendmail|sm-mta)\[\d+\]: ", 80),
    ("isc:dhcp", r"^(?:<\d+>)?\w{3} +\d+ [\d:]{8} \S+ dhcpd(?:\[\d+\])?: ", 80),
    (
        "vmware:esxlog:hostd",
        r"^\d{4}-\d\d-\d\dT[\d:.]+Z (?:<\d+>)?\w+ (?:hostd|vpxa|vobd)\[\w+\]:? \[Originator@",
        30,
    ),
    // Other services.
    (
        "exim_main",
        r"^\d{4}-\d\d-\d\d [\d:]{8} (?:\[\d+\] )?\w{6}-\w{6,11}-\w{2,4} (?:<=|=>|->|\*\*|==|Completed)",
        30,
    ),
    (
        "asterisk_messages",
        r"^\[\w{3} +\d+ [\d:]{8}\] (?:NOTICE|WARNING|ERROR|VERBOSE|DEBUG|DTMF)\[\d+\]",
        30,
    ),
    (
        "freeradius",
        r"^\w{3} \w{3} +\d+ [\d:]{8} \d{4} : (?:Auth|Info|Error|Warning|Proxy|Debug): ",
        50,
    ),
    ("vsftpd", r"^\w{3} \w{3} +\d+ [\d:]{8} \d{4} \[pid \d+\] ", 50),
    ("xferlog", r"^\w{3} \w{3} +\d+ [\d:]{8} \d{4} \d+ \S+ \d+ \S+ [ab] [CUT_]+ [oid] [arg] ", 50),
    (
        "isc:bind:query",
        r"^\d\d-\w{3}-\d{4} [\d:.]+ (?:queries: )?(?:info: )?client .*: query: ",
        30,
    ),
    (
        "dpkg",
        r"^\d{4}-\d\d-\d\d [\d:]{8} (?:status|install|upgrade|configure|trigproc|startup|remove|purge|conffile) ",
        50,
    ),
    ("apt_history", r"^Start-Date: \d{4}-\d\d-\d\d  [\d:]{8}$", 10),
    ("journald:export", r"^__CURSOR=", 1),
    ("dmesg", r"^(?:<\d+>)?\[ *\d+\.\d{6}\] ", 50),
    ("dmesg", r"^\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] [\w-]", 50),
    ("multilog", r"^@40000000[0-9a-f]{8}(?:[0-9a-f]{8})? ", 50),
    (
        "strace",
        r#"^(?:\[pid +\d+\] |\d+ +)?\d\d:\d\d:\d\d(?:\.\d{6})? (?:\w+\(|<\.\.\. \w+ resumed>|\+\+\+ |--- )"#,
        50,
    ),
    ("ltsv", r"^\w+:[^\t]*\t\w+:[^\t]*\t\w+:", 60),
    ("logfmt", r#"^(?:time|ts|t|timestamp)="?\d\S* .*\b(?:level|lvl|severity)="?\w+"#, 50),
    (
        "logfmt",
        r#"^[\w.]+=\S+ (?:[\w.]+=\S+ )*(?:t|ts|time|timestamp)="?\d{4}-.*\b(?:level|lvl)="?\w"#,
        50,
    ),
    ("logfmt", r#"^(?:level|lvl)="?\w+"? (?:time|ts|t|timestamp)="?\d"#, 50),
    (
        "openstack",
        r"^(?:\S+ )?\d{4}-\d\d-\d\d [\d:.]+ \d+ [A-Z]+ (?:nova|neutron|cinder|glance|keystone|heat)\.",
        50,
    ),
    ("android", r"^\d\d-\d\d [\d:.]+ +\d+ +\d+ [VDIWEF] ", 50),
    ("bgl", r"^\S+ \d{10} \d{4}\.\d\d\.\d\d \S+ \d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d+ ", 50),
    ("thunderbird", r"^\S+ \d{10} \d{4}\.\d\d\.\d\d \S+ \w{3} +\d+ [\d:]{8} ", 50),
    ("aws:cloudwatchlogs:vpcflow", r"^(?:[a-z0-9-]+ )+(?:pkt-)?srcaddr (?:[a-z0-9-]+ ?)+$", 1),
    ("aws:cloudwatchlogs:vpcflow", r"^\d (?:\d{12}|unknown) eni-[0-9a-f]+ \S+ \S+ ", 50),
    ("hpc", r"^\d+ \S+ \S+ \S+ \d{10} \d ", 50),
    ("healthapp", r"^\d{8}-\d+:\d+:\d+:\d+\|", 50),
    ("proxifier", r"^\[\d\d\.\d\d \d\d:\d\d:\d\d\] ", 50),
    // Syslog.
    (
        "linux_secure",
        r"^(?:<\d+>)?\w{3} +\d+ [\d:]{8} \S+ (?:sshd|sudo|su|login|gdm|polkitd|passwd|useradd|systemd-logind|CRON)[(\[:]",
        80,
    ),
    ("syslog", r"^(?:<\d+>)?\w{3} +\d+ [\d:]{8} \S+ [^:]+", 60),
    ("syslog", r"^<\d+>\d* ?\d{4}-\d\d-\d\dT", 60),
    ("syslog", r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) \S+ [^\s:]+?(?:\[\d+\])?: ", 60),
    ("go_log", r"^\d{4}/\d\d/\d\d [\d:]{8}(?:\.\d{6})? (?:\w+\.go:\d+: )?\S", 50),
];

/// All patterns, in the order of [`CONTENT`].
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(CONTENT.iter().map(|(_, pattern, _)| pattern))
        .unicode(false)
        .size_limit(64 << 20)
        .dfa_size_limit(16 << 20)
        .build()
        .expect("a test compiles them")
});

/// Returns the source type that the lines of a sample match.
pub(super) fn sourcetype(lines: &[&str]) -> Option<&'static str> {
    let flush: Vec<&str> =
        lines.iter().copied().filter(|line| !line.starts_with([' ', '\t'])).collect();
    let lines = if flush.is_empty() { lines } else { flush.as_slice() };
    let mut matching = [0; CONTENT.len()];
    for line in lines {
        for at in &PATTERNS.matches(line.as_bytes()) {
            matching[at] += 1;
        }
    }
    let fits = |(matching, (_, _, share)): &(usize, &(&str, &str, usize))| {
        *matching > 0 && *matching * 100 >= lines.len() * share
    };
    let mut all = matching.into_iter().zip(CONTENT);
    all.find(fits).map(|(_, (name, _, _))| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), CONTENT.len());
    }
}
