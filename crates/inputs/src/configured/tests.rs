//! Tests of the meaning of stanzas, and of the messages about invalid ones.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use conf::{Layer, Layers};

use super::*;
use crate::exec::Schedule;
use crate::monitor::{HostFrom, Salt};
use crate::tcp::Framing;

fn read(text: &str) -> Result<Configured, Vec<Error>> {
    let layers = Layers::builtin().with(Layer::AppLocal("a".into()), "inputs", text);
    Configured::read(&layers.effective("inputs"), "me")
}

#[test]
fn a_monitor_stanza_is_read_with_all_its_keys() {
    let configured = read(
        "[monitor:///var/log/*/app.log]\nindex = web\nhost_segment = 3\nsourcetype = mine\n\
         whitelist = \\.log$\nblacklist = debug\nrecursive = false\nfollowSymlink = 0\n\
         crcSalt = <SOURCE>\ninitCrcLength = 1024\nignoreOlderThan = 7d\nfollowTail = 1\n\
         time_before_close = 5\n\
         [monitor:///off]\ndisabled = 1\n",
    );
    let configured = configured.unwrap();
    let [target] = &configured.monitor[..] else { panic!("{configured:?}") };
    assert_eq!((target.index.as_str(), &*target.host), ("web", "me"));
    assert!(matches!(target.host_from, HostFrom::Segment(3)));
    assert!(!target.recursive && !target.follow_symlink && target.follow_tail);
    assert_eq!((&target.salt, target.init_crc_length), (&Salt::Source, 1024));
    assert_eq!(target.ignore_older_than, Some(Duration::from_secs(604_800)));
    assert_eq!(target.time_before_close, Some(Duration::from_secs(5)));
    assert!(target.whitelist.is_some() && target.blacklist.is_some());
}

#[test]
fn other_inputs_are_read_and_unknown_ones_named() {
    let configured = read(
        "[batch:///drop]\nmove_policy = sinkhole\n\
         [script://./bin/uptime.sh -a b]\ninterval = */5 * * * *\n\
         [fifo:///run/pipe]\n[tcp://5514]\nsourcetype = syslog\n[udp://127.0.0.1:5515]\n\
         connection_host = none\nhost = there\n_rcvbuf = 65536\n[udp://5516]\n\
         [http://app]\ntoken = t\nindexes = a, b\nuseACK = 1\n\
         [aws_sqs_based_s3://trail]\nsqs_queue_url = http://q/1/x\ns3_file_decoder = CloudTrail\n\
         [WinEventLog://Security]\n",
    );
    let configured = configured.unwrap();
    assert!(configured.monitor[0].delete_when_read);
    let script = &configured.scripts[0];
    assert!(script.program.ends_with("apps/a/bin/uptime.sh"), "{script:?}");
    assert_eq!(script.arguments, ["-a", "b"]);
    assert!(matches!(script.schedule, Schedule::Cron(_)));
    assert_eq!(configured.tcp[0].0.to_string(), "0.0.0.0:5514");
    assert_eq!(configured.udp[0].1.host.as_deref(), Some("there"));
    let buffers: Vec<usize> = configured.udp.iter().map(|(_, one)| one.receive_buffer).collect();
    assert_eq!(buffers, [65_536, 8_388_608]);
    let token = &configured.http[0];
    assert_eq!((token.name.as_str(), token.indexes.len(), token.use_ack), ("app", 2, true));
    assert_eq!((configured.sqs.len(), configured.fifos.len()), (1, 1));
    assert!(configured.warnings[0].contains("[WinEventLog://Security]"));
}

#[test]
fn the_directory_of_splunk_in_names_is_the_directory_of_configuration() {
    let app = "[script://$SPLUNK_HOME/etc/apps/a/bin/x.py -v]\ninterval = 60\ndisabled = 1\n\
               [monitor://$SPLUNK_HOME/etc/apps/a/logs/*.csv]\n[monitor://$SPLUNK_DB/main]\n\
               [monitor://$SPLUNK_HOME/var/log/splunk]\n[script://./bin/y.sh]\ndisabled = 1\n\
               interval = 60\n";
    let over_rest = "[script://$SPLUNK_HOME/etc/apps/a/bin/x.py -v]\ndisabled = 0\n\
                     [script://./bin/y.sh]\ndisabled = 0\n";
    let layers = Layers::builtin().with(Layer::AppStored("a".into()), "inputs", over_rest);
    let layers = layers.with(Layer::AppDefault("a".into()), "inputs", app);
    let configured = Configured::read(&layers.effective("inputs"), "me").unwrap();
    let [script, relative] = &configured.scripts[..] else { panic!("{configured:?}") };
    let here = std::path::absolute(".").unwrap();
    assert_eq!(script.program, here.join("apps/a/bin/x.py"));
    assert_eq!(script.arguments, ["-v"]);
    assert_eq!(script.environment[1], ("SPLUNK_ETC".to_owned(), here.display().to_string()));
    assert!(relative.program.ends_with("apps/a/bin/y.sh"), "{relative:?}");
    let [target] = &configured.monitor[..] else { panic!("{configured:?}") };
    assert!(target.pattern.takes(&here.join("apps/a/logs/hail.csv")), "{target:?}");
    let [data, logs] = &configured.warnings[..] else { panic!("{configured:?}") };
    let file = "apps/a/default/inputs.conf";
    assert!(
        data.starts_with(&format!("{file}:5: [monitor://$SPLUNK_DB/main]: there is")),
        "{data}"
    );
    assert!(logs.contains("there is no $SPLUNK_HOME/var/log/splunk: "), "{logs}");
}

#[test]
fn what_is_skipped_and_indexes_have_a_place() {
    let text = "[bogus://x]\n[http://a]\ntoken =\n[monitor:///nope]\nindex = nosuch\n";
    let configured = read(text).unwrap();
    let [unknown, token] = &configured.warnings[..] else { panic!("{configured:?}") };
    let file = "apps/a/local/inputs.conf";
    let skipped =
        format!("{file}:1: [bogus://x]: there is no input \"bogus\"; the stanza is skipped");
    assert_eq!(*unknown, skipped);
    assert!(token.starts_with(&format!("{file}:3: [http://a] token: it is empty")), "{token}");
    assert!(configured.http.is_empty());
    let place = configured.index_of_system(&IndexName::new("nosuch").unwrap()).unwrap();
    assert_eq!(place.to_string(), format!("{file}:4"));
    assert!(configured.index_of_system(&IndexName::new("main").unwrap()).is_none());
}

#[test]
fn ports_with_tls_may_be_written_with_one_colon() {
    let configured = read(
        "[splunktcp-ssl:9997]\n[splunktcp-ssl://9998]\n[tcp-ssl:6514]\nsourcetype = syslog\n\
         [tcp-ssl://127.0.0.1:6515]\n[tcp://6516]\n",
    );
    let configured = configured.unwrap();
    let ports = configured.forwarders.iter().map(|(address, port)| (address.port(), port.tls));
    let mut ports: Vec<_> = ports.collect();
    ports.sort_unstable();
    assert_eq!(ports, [(9997, true), (9998, true)]);
    let inputs = configured.tcp.iter();
    let mut inputs: Vec<_> =
        inputs.map(|(address, one)| (address.to_string(), one.tls, one.framing)).collect();
    inputs.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
    let expected = [
        ("0.0.0.0:6514", true, Framing::Syslog),
        ("0.0.0.0:6516", false, Framing::Lines),
        ("127.0.0.1:6515", true, Framing::Lines),
    ];
    assert_eq!(inputs, expected.map(|(at, tls, framing)| (at.to_owned(), tls, framing)));
    assert_eq!(configured.warnings, [""; 0]);
}

#[test]
fn certificates_of_inputs_are_those_of_the_stanza_ssl() {
    let read = |text: &str| {
        let layer = Layer::AppLocal("a".to_owned());
        let conf = Layers::builtin().with(layer, "inputs", text).effective("inputs");
        TlsSettings::read(&conf)
    };
    assert_eq!(read("[tcp-ssl://6514]\n").unwrap(), TlsSettings::default());
    let settings = read("[SSL]\nserverCert = /a.pem\nrootCA = /ca.pem\n").unwrap();
    let certificate = settings.certificate.as_ref().unwrap();
    assert_eq!(certificate.path, Path::new("/a.pem"));
    assert_eq!(certificate.place.as_ref().map(|place| place.line), Some(2));
    assert_eq!(settings.client_ca, None, "no client is asked");
    let [unused] = &settings.warnings[..] else { panic!("{settings:?}") };
    assert!(unused.contains("inputs.conf:3: [SSL] rootCA has no effect without"), "{unused}");
    let settings =
        read("[SSL]\nrequireClientCert = 1\nsslRootCAPath = /ca.pem\nrootCA = /old.pem\n");
    assert_eq!(settings.unwrap().client_ca.unwrap().path, Path::new("/ca.pem"));
    let errors = read("[SSL]\nrequireClientCert = 1\n").unwrap_err();
    let shown = errors[0].to_string();
    let part = "inputs.conf:2: [SSL] requireClientCert = 1: expected sslRootCAPath";
    assert!(shown.contains(part), "{shown}");
}

#[test]
fn restrictions_of_senders_that_would_have_no_effect_are_refused() {
    let errors = read("[tcp-ssl://1]\nrequireClientCert = true\n").unwrap_err();
    let shown = errors[0].to_string();
    let part = "inputs.conf:2: [tcp-ssl://1] requireClientCert = true: it is read in [SSL] only";
    assert!(shown.contains(part), "{shown}");
    assert!(read("[tcp-ssl://1]\nrequireClientCert = false\n").is_ok());

    let required = "[SSL]\nrequireClientCert = 1\nrootCA = /ca.pem\nsslCommonNameToCheck = a\n\
                    sslAltNameToCheck = b\n";
    let layer = Layer::AppLocal("a".to_owned());
    let conf = Layers::builtin().with(layer, "inputs", required).effective("inputs");
    let errors = TlsSettings::read(&conf).unwrap_err();
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let [name, alt] = &shown[..] else { panic!("{shown:?}") };
    assert!(name.contains("inputs.conf:4: [SSL] sslCommonNameToCheck = a: names"), "{name}");
    assert!(alt.contains("inputs.conf:5: [SSL] sslAltNameToCheck = b: names"), "{alt}");
}

#[test]
fn settings_of_ssl_that_have_no_effect_are_told() {
    let text =
        "[tcp-ssl://1]\nserverCert = /a\n[splunktcp-ssl://2]\n[SSL]\nrequireClientCert = 1\n";
    let warnings = read(text).unwrap().warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for part in [
        "inputs.conf:2: [tcp-ssl://1] serverCert has no effect",
        "inputs.conf:5: [SSL] requireClientCert has no effect for [splunktcp-ssl://2]",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{warnings:?}");
    }
}

#[test]
fn a_token_in_the_query_is_allowed_by_its_stanza_or_for_all() {
    let configured = read(
        "[http]\nallowQueryStringAuth = 1\n[http://a]\ntoken = a\n\
         [http://b]\ntoken = b\nallowQueryStringAuth = 0\n",
    );
    let allowed = |configured: Configured| {
        let mut tokens = configured.http;
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        tokens.iter().map(|token| token.query_string_auth).collect::<Vec<_>>()
    };
    assert_eq!(allowed(configured.unwrap()), [Some(true), Some(false)]);
    assert_eq!(allowed(read("[http://a]\ntoken = a\n").unwrap()), [None]);
}

#[test]
fn senders_are_named_where_that_is_asked_for() {
    let configured =
        read("[tcp://1]\n[tcp://2]\nconnection_host = dns\n[udp://3]\nconnection_host = dns\n");
    let configured = configured.unwrap();
    let tcp: Vec<bool> = configured.tcp.iter().map(|(_, one)| one.names.is_some()).collect();
    assert_eq!((tcp, configured.udp[0].1.names.is_some()), (vec![false, true], true));
}

#[test]
fn limits_of_the_monitor_are_those_of_inputproc() {
    let limits = |text: &str| {
        let layers = Layers::builtin().with(Layer::SystemLocal, "limits", text);
        MonitorSettings::read(&layers)
    };
    assert_eq!(limits("").unwrap(), MonitorSettings::default());
    assert_eq!(limits("[inputproc]\nmax_fd = 7").unwrap().max_fd, 7);
    let error = limits("[inputproc]\nmax_fd = many").unwrap_err().to_string();
    assert!(error.contains("limits.conf:2: [inputproc] max_fd = many: expected"), "{error}");
}

#[test]
fn mistakes_are_told_with_file_stanza_and_key() {
    for (text, told) in [
        (
            "[monitor:///a]\ninitCrcLength = 5",
            "initCrcLength = 5: expected a whole number of bytes from 256",
        ),
        ("[monitor:///a]\nwhitelist = (", "whitelist = (: expected a regular expression"),
        ("[batch:///a]", "move_policy: expected sinkhole"),
        ("[script://x]\ninterval = often", "interval = often: expected seconds"),
        ("[tcp://here]", "expected a port"),
        ("[monitor:///a]\nindex = Not Valid", "index = Not Valid"),
        ("[monitor:///a]\ndisabled = maybe", "disabled = maybe: expected true or false"),
        ("[aws_sqs_s3://x]", "sqs_queue_url: expected"),
    ] {
        let errors = read(text).unwrap_err();
        let shown = errors[0].to_string();
        assert!(shown.contains(told), "{shown}");
        assert!(shown.starts_with("apps/a/local/inputs.conf:"), "{shown}");
    }
}

#[test]
fn inputs_of_apps_with_mistakes_are_left_out() {
    let app = "[tcp://5140]\nindex = os\n[tcp://x]\n[monitor:///var/log]\nindex = os\n[monitor:///tmp]\ntime_before_close = soon";
    let system = "[udp://127.0.0.1:5141]\nindex = main";
    let layers = Layers::builtin().with(Layer::AppDefault("a".to_owned()), "inputs", app).with(
        Layer::SystemLocal,
        "inputs",
        system,
    );
    let of_app = |place: &Place| layers.is_of_app(place);
    let conf = layers.effective("inputs");
    let mut configured = Configured::read_tolerating(&conf, "me", &of_app).unwrap();
    assert_eq!(
        (configured.tcp.len(), configured.udp.len(), configured.monitor.len()),
        (1, 1, 1),
        "{configured:?}"
    );
    let told = |part: &str| configured.warnings.iter().any(|warning| warning.contains(part));
    assert!(told("the input [tcp://x] is ignored"), "{:?}", configured.warnings);
    assert!(told("time_before_close = soon"), "{:?}", configured.warnings);
    let (os, main) = (IndexName::new("os").unwrap(), IndexName::new("main").unwrap());
    assert!(configured.index_of_apps(&os).is_some() && configured.index_of_apps(&main).is_none());
    configured.leave_out(&os);
    assert_eq!((configured.tcp.len(), configured.udp.len(), configured.monitor.len()), (0, 1, 0));
    assert!(read("[tcp://x]").is_err(), "without an app it is an error");
}

#[tokio::test]
async fn a_port_of_an_app_that_is_taken_is_left_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("[tcp://{}]", taken.local_addr().unwrap());
    let layers = Layers::builtin().with(Layer::AppDefault("a".to_owned()), "inputs", &text);
    let conf = layers.effective("inputs");
    let tolerant = Configured::read_tolerating(&conf, "me", &|place| layers.is_of_app(place));
    assert!(bind(&tolerant.unwrap()).await.is_ok());
    assert!(bind(&Configured::read(&conf, "me").unwrap()).await.is_err());
}
