//! The `karst-forwarder` program: runs the agent, and shows the state of a running one.

mod config;
mod serve;
mod show;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = config::Arguments::parse();
    let result = match arguments.command {
        config::Command::Run(options) => {
            config::use_little_memory();
            serve::run(&options)
        }
        config::Command::List(options) => show::list(&options),
        config::Command::Btool(options) => show::btool(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("karst-forwarder: {error:#}");
            ExitCode::FAILURE
        }
    }
}
