//! `karst completions` and `karst man`, written from the declarations of the command line.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::config::{Arguments, CompletionsOptions, ManOptions};

pub(crate) fn completions(options: CompletionsOptions) -> Result<ExitCode> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "karst", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(options: ManOptions) -> Result<ExitCode> {
    let command = Arguments::command();
    let Some(directory) = options.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        std::io::stdout().write_all(&page)?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = || format!("cannot write the pages into {}", directory.display());
    std::fs::create_dir_all(&directory).with_context(failed)?;
    clap_mangen::generate_to(command, &directory).with_context(failed)?;
    println!("the pages are in {}: man {}/karst.1", directory.display(), directory.display());
    Ok(ExitCode::SUCCESS)
}
