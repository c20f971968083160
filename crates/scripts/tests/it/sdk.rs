//! Commands that use `splunklib.searchcommands` of Splunk's Python SDK, if it is installed.

use super::*;

/// An app with the SDK, or `None` if Python cannot import it.
fn app() -> Option<App> {
    let find = "import splunklib, os; print(os.path.dirname(splunklib.__file__))";
    let found = std::process::Command::new("python3").args(["-c", find]).output().unwrap();
    let python = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    let path = std::env::var("KARST_SPLUNK_SDK").unwrap_or(python);
    if path.is_empty() {
        println!("skipped: splunk-sdk is not installed; name its splunklib in KARST_SPLUNK_SDK");
        return None;
    }
    let app = App::new();
    // A copy: the sandbox does not grant the directory that a link leads to.
    let mut copy = std::process::Command::new("cp");
    copy.arg("-rL").arg(path).arg(app.path("splunklib"));
    assert!(copy.status().unwrap().success());
    Some(app)
}

/// A program with a class of this kind and these methods.
fn program(kind: &str, configuration: &str, body: &str) -> String {
    format!(
        "import sys\nfrom splunklib.searchcommands import *\n@Configuration({configuration})\n\
         class XCommand({kind}):\n{body}\ndispatch(XCommand, sys.argv, sys.stdin, sys.stdout, __name__)\n"
    )
}

const STREAMING: &str = r#"
    times = Option(require=True, validate=validators.Integer(1))
    def stream(self, records):
        for record in records:
            record["product"] = int(record["n"]) * self.times
            record["list"] = ["a$", "b;c", record["n"]]
            yield record
"#;

#[tokio::test]
async fn a_streaming_command_adds_fields_in_both_protocols() {
    let Some(app) = app() else { return };
    let legacy = Legacy {
        enableheader: true,
        outputheader: true,
        supports_getinfo: true,
        supports_rawargs: true,
        ..legacy()
    };
    for protocol in [Protocol::Chunked, Protocol::Legacy(legacy)] {
        let text = program("StreamingCommand", "", STREAMING);
        let command = app.command("x.py", &text, protocol);
        let found = run(command, info(&["times=3"]), &numbers(4), &Settings::default()).await;
        let (tables, messages, behaviour) = found.unwrap();
        assert_eq!(values(&tables, "product"), ["3", "6", "9", "12"]);
        assert_eq!(values(&tables, "list")[3], "a$+b;c+4");
        assert_eq!(messages, []);
        assert!(behaviour.streaming && !behaviour.generating);
    }
}

#[tokio::test]
async fn what_an_author_says_of_wrong_arguments_is_the_error() {
    let Some(app) = app() else { return };
    let text = program("StreamingCommand", "", STREAMING);
    for (arguments, expected) in [
        (&["times=x"] as &[&str], "Illegal value: times=x"),
        (&[], "A value for \"times\" is required"),
        (&["times=1", "other=2"], "Unrecognized option: other=2"),
    ] {
        let command = app.command("x.py", &text, Protocol::Chunked);
        let found = run(command, info(arguments), &numbers(1), &Settings::default()).await;
        let error = found.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_eventing_command_chooses_rows() {
    let Some(app) = app() else { return };
    let body = "    def transform(self, records):\n        \
                return (record for record in records if int(record['n']) % 2 == 0)\n";
    let command = app.command("x.py", &program("EventingCommand", "", body), Protocol::Chunked);
    let found = run(command, info(&[]), &numbers(7), &Settings::default()).await;
    let (tables, _, behaviour) = found.unwrap();
    assert_eq!(values(&tables, "n"), ["2", "4", "6"]);
    assert!(!behaviour.streaming);
}

const GENERATING: &str = r#"
    count = Option(require=True, validate=validators.Integer(0))
    def generate(self):
        self.write_info("begun")
        for i in range(self.count):
            yield {"_time": 1000 + i, "i": i}
"#;

#[tokio::test]
async fn a_generating_command_makes_rows_in_several_answers() {
    let Some(app) = app() else { return };
    let text = program("GeneratingCommand", "", GENERATING);
    for (count, answers) in [(0, 1), (3, 1), (50_001, 2)] {
        let command = app.command("x.py", &text, Protocol::Chunked);
        let arguments = [format!("count={count}")];
        let arguments = arguments.each_ref().map(String::as_str);
        let found = run(command, info(&arguments), &Table::default(), &Settings::default()).await;
        let (tables, messages, behaviour) = found.unwrap();
        assert_eq!(tables.len(), answers);
        assert_eq!(tables.iter().map(|table| table.count).sum::<usize>(), count);
        assert_eq!(messages[0].text, "begun");
        assert!(behaviour.generating);
    }
}

const REPORTING: &str = r#"
    phase_seen = ""
    @Configuration()
    def map(self, records):
        for record in records:
            yield {"square": int(record["n"]) ** 2}
    def reduce(self, records):
        yield {"sum": sum(int(record["square"]) for record in records)}
"#;

#[tokio::test]
async fn a_reporting_command_names_the_command_before_it() {
    let Some(app) = app() else { return };
    let text = program("ReportingCommand", "requires_preop=True", REPORTING);
    let mut command = app.command("x.py", &text, Protocol::Chunked);
    command.maxinputs = 100;
    let begun = CommandRun::start(command.clone(), info(&[]), &Settings::default()).await;
    let (reduce, _) = begun.unwrap();
    let (name, arguments) = reduce.preop().unwrap();
    assert_eq!((name, arguments.plain), ("x", vec!["phase=map".to_owned()]));
    drop(reduce);
    let map = info(&["phase=map"]);
    let (mapped, _, _) =
        run(command.clone(), map, &numbers(4), &Settings::default()).await.unwrap();
    assert_eq!(values(&mapped, "square"), ["1", "4", "9", "16"]);
    let found = run(command, info(&[]), &mapped[0], &Settings::default()).await;
    let (tables, _, behaviour) = found.unwrap();
    assert_eq!(values(&tables, "sum"), ["30"]);
    assert!(!behaviour.streaming);
}

#[tokio::test]
async fn an_exception_is_the_error_with_its_place() {
    let Some(app) = app() else { return };
    let body = "    def stream(self, records):\n        for r in records:\n            yield {'x': 1 // 0}\n";
    let command = app.command("x.py", &program("StreamingCommand", "", body), Protocol::Chunked);
    let found = run(command, info(&[]), &numbers(1), &Settings::default()).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("exit code 1") && error.contains("ZeroDivisionError at"), "{error}");
}
