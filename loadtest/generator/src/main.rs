//! `karst-loadgen`: generated and repeated logs to files, a HEC or sockets, and the truth about them.
#![allow(clippy::disallowed_methods)]

mod arguments;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Parser;
use loadgen::load::{Generated, Load};
use loadgen::pace::Pace;
use loadgen::replay::{Options, Replay, Span};
use loadgen::sinks::body::Form;
use loadgen::sinks::hec::Hec;
use loadgen::sinks::tcp::Tcp;
use loadgen::sinks::{Report, file, null};
use loadgen::truth;

use arguments::{
    Arguments, Command, HecArguments, Pacing, ReplayArguments, Shape, SyslogArguments,
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = match run(arguments.command) {
        Ok(Some(report)) => report,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("karst-loadgen: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("{report}");
    if arguments.json {
        println!("{}", report.json());
    }
    match report.answers {
        Some(answers) if answers.unacknowledged > 0 => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn run(command: Command) -> Result<Option<Report>> {
    let report = match command {
        Command::File { shape, path } => file::run(&shape.stream(None)?, shape.threads, &path)?,
        Command::Null { shape } => null::run(&shape.stream(None)?, shape.threads)?,
        Command::Tcp { shape, pacing, address } => tcp(&shape, &pacing, address, Form::Lines)?,
        Command::Syslog { shape, pacing, syslog, address } => {
            tcp(&shape, &pacing, address, messages(&syslog))?
        }
        Command::Hec(arguments) => hec(&arguments)?,
        Command::Replay(arguments) => replay(&arguments)?,
        Command::Search(arguments) => {
            let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
            let found = runtime.block_on(arguments.searches().run())?;
            eprintln!("{found}");
            println!("{}", found.json());
            return Ok(None);
        }
        Command::Truth { shape, questions } => {
            println!("{}", truth::answers(&shape.stream(None)?, &questions)?);
            return Ok(None);
        }
    };
    Ok(Some(report))
}

fn messages(syslog: &SyslogArguments) -> Form {
    Form::Syslog { framing: syslog.framing(), header: syslog.header() }
}

fn tcp(shape: &Shape, pacing: &Pacing, address: String, form: Form) -> Result<Report> {
    let load = Generated::new(shape.stream(Some(pacing))?, "loadgen", pacing.batch());
    let pace = pacing.pace()?;
    let report = Tcp { address, connections: pacing.connections, form }.run(&load, &pace)?;
    Ok(paced(report, pacing, &pace))
}

fn hec(arguments: &HecArguments) -> Result<Report> {
    let pacing = &arguments.pacing;
    let stream = arguments.shape.stream(Some(pacing))?;
    let load = Generated::new(stream, &arguments.source, pacing.batch());
    send(arguments.hec()?, Arc::new(load), pacing)
}

fn send(hec: Hec, load: Arc<dyn Load>, pacing: &Pacing) -> Result<Report> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let pace = Arc::new(pacing.pace()?);
    let report = runtime.block_on(hec.run(load, Arc::clone(&pace)))?;
    Ok(paced(report, pacing, &pace))
}

fn paced(report: Report, pacing: &Pacing, pace: &Pace) -> Report {
    Report { behind: pacing.bytes_per_second().map(|_| pace.behind()), ..report }
}

fn replay(arguments: &ReplayArguments) -> Result<Report> {
    let pacing = &arguments.pacing;
    let options = Options {
        scale: arguments.scale,
        even: arguments.even,
        fresh_ids: arguments.fresh_ids,
        batch: pacing.batch(),
    };
    let replay = Replay::open(&arguments.files, Span { start: 0, length: 0 }, options)?;
    for sample in replay.samples().iter().filter(|sample| sample.timed() == 0) {
        eprintln!("no time is known in {}: its lines stay as they are", sample.name());
    }
    let span = arguments.times.span(replay.bytes(), Some(pacing))?;
    let replay = replay.over(span);
    let (kind, place) = arguments.to.split_once(':').unwrap_or((&arguments.to, ""));
    let tcp = |form: Form| {
        let pace = pacing.pace()?;
        let tcp = Tcp { address: place.to_owned(), connections: pacing.connections, form };
        Ok(paced(tcp.run(&replay, &pace)?, pacing, &pace))
    };
    match kind {
        "null" => Ok(null::batches(&replay)),
        "tcp" => tcp(Form::Lines),
        "syslog" => tcp(messages(&arguments.syslog)),
        "hec" => send(arguments.hec(place)?, Arc::new(replay), pacing),
        _ if place.is_empty() => {
            let pace = pacing.pace()?;
            let report = file::folder(&replay, &pace, Path::new(&arguments.to))?;
            Ok(paced(report, pacing, &pace))
        }
        _ => bail!(
            "\"{}\" is no sink; write a directory, -, null, hec:http://host:8088, tcp:host:port or \
             syslog:host:port",
            arguments.to
        ),
    }
}
