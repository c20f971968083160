//! Programs that fail, hang, print invalid output or exceed limits.

use std::time::{Duration, Instant};

use super::*;

async fn fails(file: &str, text: &str, protocol: Protocol, settings: &Settings) -> String {
    let app = App::new();
    let command = app.command(file, text, protocol);
    run(command, info(&[]), &numbers(1), settings).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let command = command(Path::new("/nowhere/bin/x.py"), Protocol::Chunked);
    let error = run(command, info(&[]), &numbers(1), &Settings::default()).await.unwrap_err();
    let expected = "the command \"x\" (/nowhere/bin/x.py) does not exist: check filename in commands.conf, or \
                    external_cmd in transforms.conf, of the app";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_missing_interpreter_is_named() {
    let settings = Settings { python: "no-such-python".to_owned(), ..Settings::default() };
    let error = fails("x.py", "", Protocol::Chunked, &settings).await;
    assert!(error.contains("exit code 127") && error.contains("no-such-python"), "{error}");
}

#[tokio::test]
async fn the_exit_code_and_the_end_of_stderr_stand_in_the_error() {
    let text = "import sys\nsys.stderr.write('x' * 100000 + 'the reason')\nsys.exit(3)\n";
    for protocol in [Protocol::Chunked, Protocol::Legacy(legacy())] {
        let error = fails("x.py", text, protocol, &Settings::default()).await;
        assert!(error.contains("with exit code 3") && error.ends_with("the reason"), "{error}");
        assert!(error.len() < 5000, "{}", error.len());
    }
}

#[tokio::test]
async fn text_before_an_answer_is_shown() {
    let error =
        fails("x.sh", "#!/bin/sh\necho hello\n", Protocol::Chunked, &Settings::default()).await;
    assert!(error.contains("answers with \"hello\" where \"chunked 1.0,"), "{error}");
}

#[tokio::test]
async fn metadata_and_rows_that_are_not_valid_are_errors() {
    let text = "#!/bin/sh\nprintf 'chunked 1.0,3,0\\n{a}'\n";
    let error = fails("x.sh", text, Protocol::Chunked, &Settings::default()).await;
    assert!(error.contains("not valid JSON"), "{error}");
    let text = "#!/bin/sh\necho a,b\necho 1\n";
    let error = fails("x.sh", text, Protocol::Legacy(legacy()), &Settings::default()).await;
    assert!(error.contains("not valid CSV") && error.contains("line: 2"), "{error}");
    let text = "#!/bin/sh\nprintf 'chunked 1.0,16,0\\n{\"error\": \"no.\"}'\n";
    let error = fails("x.sh", text, Protocol::Chunked, &Settings::default()).await;
    assert!(error.ends_with(": no."), "{error}");
}

#[tokio::test]
async fn output_above_the_limit_ends_the_program() {
    let settings = Settings { answer_bytes: 1024, output_bytes: 4096, ..Settings::default() };
    let text = "#!/bin/sh\necho chunked 1.0,9999999999999,0\n";
    let error = fails("x.sh", text, Protocol::Chunked, &settings).await;
    assert!(error.contains("more than 1024 bytes (maxchunksize in limits.conf"), "{error}");
    let text = "#!/bin/sh\nwhile :; do echo aaaaaaaaaaaaaaaaaaaaaaaa; done\n";
    let error = fails("x.sh", text, Protocol::Legacy(legacy()), &settings).await;
    assert!(error.contains("more than 4096 bytes (max_output_mb"), "{error}");
}

#[tokio::test]
async fn memory_and_files_have_limits() {
    let settings = Settings { memory_bytes: 128 << 20, file_bytes: 1 << 20, ..Settings::default() };
    let text = "a = 'x' * (256 << 20)\n";
    let error = fails("x.py", text, Protocol::Legacy(legacy()), &settings).await;
    assert!(error.contains("MemoryError"), "{error}");
    let text =
        "import tempfile\nf = tempfile.TemporaryFile()\nf.write(b'x' * (2 << 20))\nf.flush()\n";
    let error = fails("x.py", text, Protocol::Legacy(legacy()), &settings).await;
    assert!(error.contains("File too large"), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_answer_is_killed_with_what_it_started() {
    let app = App::new();
    let pids = app.path("pids");
    let text = format!(
        "#!/bin/sh\nsleep 1000 &\necho $! > {0}.new\necho $$ >> {0}.new\nmv {0}.new {0}\necho waiting >&2\n\
         trap '' TERM\nwait\n",
        pids.display()
    );
    let mut command = app.command("x.sh", &text, Protocol::Chunked);
    command.maxwait = Some(Duration::from_secs(2));
    let begin = Instant::now();
    let error = run(command, info(&[]), &numbers(1), &writes(&app)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("within 2 s (maxwait in commands.conf) and was killed: waiting"),
        "{text}"
    );
    assert!(begin.elapsed() < Duration::from_secs(60));
    wait_until_ended(&pids).await;
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process() {
    let app = App::new();
    let pids = app.path("pids");
    let text = format!(
        "#!/bin/sh\nsleep 1000 &\necho $! > {0}.new\necho $$ >> {0}.new\nmv {0}.new {0}\nwait\n",
        pids.display()
    );
    let command = app.command("x.sh", &text, Protocol::Chunked);
    let rows = numbers(1);
    let settings = writes(&app);
    let running = run(command, info(&[]), &rows, &settings);
    let there = async {
        while !pids.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = running => panic!("it does not answer"),
        () = there => {}
    }
    wait_until_ended(&pids).await;
}

/// Settings that let programs write into the directory of the app.
fn writes(app: &App) -> Settings {
    Settings { sandbox_write: vec![app.bin().display().to_string()], ..Settings::default() }
}

/// Waits until the processes whose IDs are in a file have ended or are zombies.
async fn wait_until_ended(pids: &Path) {
    let numbers = std::fs::read_to_string(pids).unwrap();
    assert_eq!(numbers.lines().count(), 2);
    let runs = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let gone = async || !numbers.lines().any(runs);
    assert!(testkit::wait_until(gone, Duration::from_secs(60)).await);
}
