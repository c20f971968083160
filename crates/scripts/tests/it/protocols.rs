//! Both protocols, in programs without a library.

use super::*;

/// Answers in protocol 2, with `n` doubled in a new field.
const DOUBLE: &str = r#"
import csv, io, json, os, re, sys
def read():
    line = sys.stdin.buffer.readline()
    if not line: return None
    meta, body = map(int, re.match(rb"chunked 1\.0,(\d+),(\d+)\n", line).groups())
    return json.loads(sys.stdin.buffer.read(meta)), sys.stdin.buffer.read(body).decode()
def write(meta, text=""):
    meta, text = json.dumps(meta).encode(), text.encode()
    sys.stdout.buffer.write(b"chunked 1.0,%d,%d\n" % (len(meta), len(text)) + meta + text)
    sys.stdout.buffer.flush()
info = read()[0]["searchinfo"]
write({"type": "streaming"})
while True:
    chunk = read()
    if chunk is None: break
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["n", "double", "args", "__mv_args", "home", "path", "cwd"])
    for row in csv.DictReader(io.StringIO(chunk[1])):
        writer.writerow([row["n"], int(row["n"]) * 2, "", "$" + "$;$".join(info["args"]) + "$",
            os.environ["SPLUNK_HOME"], os.environ.get("CARGO_MANIFEST_DIR", "none"), os.path.basename(os.getcwd())])
    write({"finished": chunk[0]["finished"], "inspector": {"messages": [["WARN", "seen"]]}}, out.getvalue())
"#;

#[tokio::test]
async fn a_chunked_command_gets_rows_in_chunks_and_nothing_of_the_environment() {
    let app = App::new();
    let command = app.command("x.py", DOUBLE, Protocol::Chunked);
    let rows = numbers(7);
    let (tables, messages, _) =
        run(command, info(&["a=1", "\"b c\""]), &rows, &Settings::default()).await.unwrap();
    assert_eq!(tables.iter().map(|table| table.count).collect::<Vec<_>>(), [3, 3, 1]);
    assert_eq!(values(&tables, "double"), ["2", "4", "6", "8", "10", "12", "14"]);
    assert_eq!(values(&tables[..1], "args")[0], "a=1+b c");
    assert_eq!(values(&tables[..1], "home")[0], "/opt/here");
    assert_eq!(values(&tables[..1], "path")[0], "none");
    assert_eq!(values(&tables[..1], "cwd")[0], "bin");
    assert_eq!(messages.len(), 3);
}

#[tokio::test]
async fn a_legacy_command_is_a_filter_of_csv() {
    let app = App::new();
    let text = "#!/bin/sh\nread header\necho \"n,args\"\nwhile read line; do echo \"${line%%,*},$*\"; done\n";
    let command = app.command("x.sh", text, Protocol::Legacy(legacy()));
    let (tables, _, _) =
        run(command, info(&["a", "b"]), &numbers(2), &Settings::default()).await.unwrap();
    assert_eq!(values(&tables, "n"), ["1", "2"]);
    assert_eq!(values(&tables, "args"), ["a b", "a b"]);
}

#[tokio::test]
async fn a_legacy_command_says_what_it_is_and_reads_the_header() {
    let app = App::new();
    let text = r#"
import csv, sys, urllib.parse
header = {}
for line in sys.stdin:
    if line == "\n": break
    name, value = line.rstrip("\n").split(":", 1)
    header[name] = urllib.parse.unquote(value)
writer = csv.writer(sys.stdout)
if sys.argv[1] == "__GETINFO__":
    sys.stdout.write("\n")
    writer.writerow(["streaming", "generating"])
    writer.writerow(["0", "1"])
else:
    sys.stdout.write("info_message=hello\n\n")
    info = next(csv.DictReader(open(header["infoPath"])))
    writer.writerow(["action", "arg", "search", "user"])
    writer.writerow([sys.argv[1], sys.argv[2], header["search"], info["_ppc.user"]])
"#;
    let legacy = Legacy {
        enableheader: true,
        outputheader: true,
        supports_getinfo: true,
        supports_rawargs: true,
        ..legacy()
    };
    let command = app.command("x.py", text, Protocol::Legacy(legacy));
    let found = run(command, info(&["\"a b\""]), &Table::default(), &Settings::default()).await;
    let (tables, messages, behaviour) = found.unwrap();
    assert_eq!(behaviour, Behaviour { generating: true, streaming: false });
    assert_eq!(values(&tables, "action"), ["__EXECUTE__"]);
    assert_eq!(values(&tables, "arg"), ["\"a b\""]);
    assert_eq!(values(&tables, "search"), ["index=main | x \"é\""]);
    assert_eq!(values(&tables, "user"), ["admin"]);
    assert_eq!(messages.len(), 1);
}

/// Writes what a program knows of its session.
const SESSION: &str = r#"
import csv, sys, urllib.parse
header = {}
for line in sys.stdin:
    if line == "\n": break
    name, value = line.rstrip("\n").split(":", 1)
    header[name] = urllib.parse.unquote(value)
info = next(csv.DictReader(open(header["infoPath"])))
writer = csv.writer(sys.stdout)
writer.writerow(["key", "auth", "token", "uri"])
writer.writerow([header["sessionKey"], header["authString"], info["_auth_token"], info["_splunkd_uri"]])
"#;

#[tokio::test]
async fn a_program_gets_the_session_that_it_is_given_and_otherwise_none() {
    let app = App::new();
    let with_header = Protocol::Legacy(Legacy { enableheader: true, ..legacy() });
    let told = async |info: SearchInfo| {
        let command = app.command("x.py", SESSION, with_header.clone());
        let (tables, _, _) = run(command, info, &numbers(1), &Settings::default()).await.unwrap();
        ["key", "auth", "token", "uri"].map(|field| values(&tables, field).concat())
    };
    let uri = "https://127.0.0.1:8089";
    let given = SearchInfo {
        session_key: SessionKey::new("k3y".to_owned()),
        uri: uri.to_owned(),
        owner: "a&b".to_owned(),
        ..info(&[])
    };
    let auth = "<auth><userId>a&amp;b</userId><username>a&amp;b</username><authToken>k3y</authToken></auth>";
    assert_eq!(told(given.clone()).await, ["k3y", auth, "k3y", uri]);
    assert_eq!(told(info(&[])).await, [""; 4]);
    let text = DOUBLE.replace("info[\"args\"]", "[info[\"session_key\"], info[\"splunkd_uri\"]]");
    let command = app.command("y.py", &text, Protocol::Chunked);
    let (tables, _, _) = run(command, given, &numbers(1), &Settings::default()).await.unwrap();
    assert_eq!(values(&tables, "args"), [format!("k3y+{uri}")]);
}
