//! Programs that import `splunk.Intersplunk` and other modules of Splunk.

use super::*;

/// A command of protocol 1 with the settings that most apps have.
fn usual() -> Legacy {
    Legacy { enableheader: true, ..legacy() }
}

async fn fails(text: &str, legacy: Legacy) -> String {
    let app = App::new();
    let command = app.command("x.py", text, Protocol::Legacy(legacy));
    run(command, info(&["a"]), &numbers(1), &Settings::default()).await.unwrap_err().to_string()
}

const ORGANIZED: &str = r#"
import splunk.Intersplunk as si
keywords, options = si.getKeywordsAndOptions()
results, dummy, settings = si.getOrganizedResults()
for row in results:
    values = []
    row["several"] = si.decodeMV(row["__mv_list"], values)
    row["list"] = [value + "!" for value in values]
    row["given"] = options["x"] + "/" + "/".join(keywords)
    row["search"] = settings["search"]
messages = {}
si.addWarnMessage(messages, "look\nout")
si.outputResults(results, messages)
"#;

#[tokio::test]
async fn a_program_reads_and_writes_rows_with_several_values_and_messages() {
    for outputheader in [false, true] {
        let app = App::new();
        let legacy = Legacy { outputheader, ..usual() };
        let command = app.command("x.py", ORGANIZED, Protocol::Legacy(legacy));
        let raw = "a \"b\",\r\n\r\né\r.".to_owned();
        let list = vec!["$1;".to_owned(), "2".to_owned()];
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        let columns = vec![column("_raw", vec![vec![raw.clone()]]), column("list", vec![list])];
        let rows = Table { columns, count: 1 };
        let asked = info(&["one", "x=b c", "two"]);
        let (tables, messages, _) = run(command, asked, &rows, &Settings::default()).await.unwrap();
        assert_eq!(values(&tables, "_raw"), [raw]);
        assert_eq!(values(&tables, "several"), ["True"]);
        assert_eq!(values(&tables, "list"), ["$1;!+2!"]);
        assert_eq!(values(&tables, "given"), ["b c/one/two"]);
        assert_eq!(values(&tables, "search"), ["index=main | x \"é\""]);
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].text, "look out");
    }
}

#[tokio::test]
async fn rows_without_a_header_are_read_and_no_rows_are_written() {
    let app = App::new();
    let text = "import splunk.Intersplunk as si\nresults = si.readResults(None, None, False)\n\
                si.outputResults([r for r in results if r['n'] == '2'])\n";
    let command = app.command("x.py", text, Protocol::Legacy(legacy()));
    let (tables, messages, _) =
        run(command, info(&[]), &numbers(5), &Settings::default()).await.unwrap();
    assert_eq!(values(&tables, "n"), ["2"]);
    assert_eq!(tables.iter().map(|table| table.count).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(messages, []);
}

#[tokio::test]
async fn a_program_says_what_it_is() {
    let text = r#"
import sys, splunk.Intersplunk as si
is_asked, sys.argv = si.isGetInfo(sys.argv)
if is_asked:
    si.outputInfo(False, True, False, False, None, True)
    raise ValueError("outputInfo ends the program")
si.outputResults([{"n": 1, "arg": sys.argv[1]}, {"n": None, "more": True}])
"#;
    for outputheader in [false, true] {
        let app = App::new();
        let legacy = Legacy { supports_getinfo: true, outputheader, ..usual() };
        let command = app.command("x.py", text, Protocol::Legacy(legacy));
        let found = run(command, info(&["a"]), &Table::default(), &Settings::default()).await;
        let (tables, _, behaviour) = found.unwrap();
        assert_eq!(behaviour, Behaviour { generating: true, streaming: false });
        assert_eq!(values(&tables, "n"), ["1", ""]);
        assert_eq!(values(&tables, "arg"), ["a", ""]);
        assert_eq!(values(&tables, "more"), ["", "True"]);
    }
}

#[tokio::test]
async fn refused_arguments_are_the_error_and_error_rows_are_rows() {
    let text = "import splunk.Intersplunk as si\nsi.parseError('no such mode')\nassert False\n";
    for supports_getinfo in [false, true] {
        let error = fails(text, Legacy { supports_getinfo, ..usual() }).await;
        assert!(error.ends_with("x.py): no such mode"), "{error}");
    }
    let app = App::new();
    let text = "import splunk.Intersplunk as si\n\
                si.outputResults(si.generateErrorResults('not there'))\n";
    let command = app.command("x.py", text, Protocol::Legacy(usual()));
    let (tables, _, _) = run(command, info(&[]), &numbers(1), &Settings::default()).await.unwrap();
    assert_eq!(values(&tables, "ERROR"), ["not there"]);
}

#[tokio::test]
async fn settings_of_apps_and_paths_of_logs_are_found_and_the_directory_of_the_app_is_left_alone() {
    let app = App::new();
    let text = r#"
import logging.handlers
import splunk.mining.dcutils as dcu
import splunk.Intersplunk as si
from splunk.appserver.mrsparkle.lib.util import make_splunkhome_path
from splunk.clilib import cli_common
from splunk.util import normalizeBoolean
log = make_splunkhome_path(["var", "log", "splunk", "x.log"])
logging.handlers.RotatingFileHandler(log).close()
dcu.getLogger().info("started")
found = cli_common.getConfStanza("x", "s")
found["off"] = normalizeBoolean("Off")
si.outputResults([found])
"#;
    let mut command = app.command("x.py", text, Protocol::Legacy(usual()));
    let etc = tempfile::tempdir().unwrap();
    let own = app.bin().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let own = format!("apps/{own}/default");
    for (place, text) in [
        ("apps/a/local", "[s]\na = other\nb = other\n"),
        (own.as_str(), "[default]\nd = 1\n[s]\n# no\na = o\\\nwn\n"),
        ("system/local", "[s]\nc=x = y\n"),
    ] {
        let folder = etc.path().join(place);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("x.conf"), text).unwrap();
    }
    let place = etc.path().display().to_string();
    command.script.environment = vec![("SPLUNK_ETC".to_owned(), place.clone())];
    let settings = Settings { sandbox_read: vec![place], ..Settings::default() };
    let (tables, _, _) = run(command, info(&[]), &numbers(1), &settings).await.unwrap();
    for (name, value) in
        [("a", "o\nwn"), ("b", "other"), ("c", "x = y"), ("d", "1"), ("off", "False")]
    {
        assert_eq!(values(&tables, name), [value], "{name}");
    }
    let files: Vec<_> = std::fs::read_dir(app.bin()).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[tokio::test]
async fn other_modules_of_splunk_are_named_and_an_own_package_is_preferred() {
    for import in
        ["import splunk.search", "from splunk import search", "import splunk\nsplunk.search()"]
    {
        let error = fails(&format!("{import}\n"), usual()).await;
        let expected =
            "the Python module \"splunk.search\" is part of Splunk, and Karst does not have it: ";
        assert!(error.starts_with(expected), "{error}");
    }
    let app = App::new();
    std::fs::create_dir(app.path("splunk")).unwrap();
    std::fs::write(app.path("splunk/__init__.py"), "own = 7\n").unwrap();
    let text = "import splunk\nprint('n')\nprint(splunk.own)\n";
    let command = app.command("x.py", text, Protocol::Legacy(usual()));
    let (tables, _, _) = run(command, info(&[]), &numbers(1), &Settings::default()).await.unwrap();
    assert_eq!(values(&tables, "n"), ["7"]);
}
