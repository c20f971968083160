//! The `karst` program: the server and the command line.

// First: its macros are for all other modules.
#[macro_use]
mod output;

mod app_searches;
mod cli;
mod config;
mod mistakes;
mod searches;
mod server;
mod settings;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = config::Arguments::parse_from(config::words());
    let result = match arguments.command {
        config::Command::Server(options) => server::run(options),
        config::Command::Search(options) => cli::run(cli::search::search(options)),
        config::Command::Add(options) => cli::run(cli::add::add(options)),
        config::Command::List(options) => cli::run(cli::list::list(options)),
        config::Command::Reload(options) => cli::run(cli::reload::reload(options)),
        config::Command::Roll(options) => cli::run(cli::roll::roll(options)),
        config::Command::Thaw(options) => cli::run(cli::thaw::thaw(options)),
        config::Command::Freeze(options) => cli::run(cli::thaw::freeze(options)),
        config::Command::Bucket(options) => cli::run(cli::bucket::bucket(options)),
        config::Command::Catalog(options) => cli::run(cli::catalog::catalog(options)),
        config::Command::Inspect(options) => cli::run(cli::inspect::inspect(options)),
        config::Command::Btool(options) => cli::btool::btool(options),
        config::Command::App(options) => cli::run(cli::app::app(options)),
        config::Command::Audit(options) => cli::run(cli::audit::audit(options)),
        config::Command::User(options) => cli::run(cli::user::user(options)),
        config::Command::Token(options) => cli::run(cli::token::token(options)),
        config::Command::Status(options) => cli::run(cli::status::status(options)),
        config::Command::Cost(options) => cli::run(cli::cost::cost(options)),
        config::Command::Cluster(options) => cli::run(cli::cluster::cluster(options)),
        config::Command::Stop(options) => cli::run(cli::status::stop(options)),
        config::Command::Login(options) => cli::run(cli::login::login(options)),
        config::Command::Logout(options) => cli::run(cli::login::logout(options)),
        config::Command::Completions(options) => cli::shell::completions(options),
        config::Command::Man(options) => cli::shell::man(options),
        config::Command::Spl(options) => cli::run(cli::spl::spl(options)),
    };
    match result {
        Ok(code) => code,
        // A closed pipe (`| head`) is not a failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("karst: {}", with_causes(&error));
            ExitCode::from(error.downcast_ref::<cli::Failure>().map_or(1, cli::Failure::code))
        }
    }
}

/// Returns the error with its causes. Libraries repeat the text of a cause in that of the error, in four
/// layers for object stores: repeated text is left out.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow!("refused").context("GET /b: refused").context("cannot read");
        assert_eq!(with_causes(&error), "cannot read: GET /b: refused");
        assert_eq!(with_causes(&anyhow!("b").context("a")), "a: b");
    }
}
