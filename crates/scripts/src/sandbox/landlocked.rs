//! Programs under Landlock. A thread restricts itself and starts the program, which inherits the
//! restrictions; so no code runs between fork and exec.

use std::io;
use std::path::Path;
use std::thread::Builder;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use crate::sandbox::paths::Paths;
use crate::settings::Settings;

/// The rights that are denied unless a rule grants them. An older kernel denies those that it knows.
const DENIED: ABI = ABI::V6;
/// Devices without state.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The reason if the kernel cannot deny everything that matters. Before ABI 3, programs could truncate files
/// that they may not write; before ABI 4, there is no rule for the network.
pub(super) fn gap(network: bool) -> Option<String> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V3));
    let ruleset = match network {
        true => ruleset,
        false => ruleset.and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V4))),
    };
    let error = ruleset.and_then(Ruleset::create).err()?;
    let version = if network { "6.2" } else { "6.7" };
    Some(format!("Linux {version} or newer with Landlock is needed: {error}"))
}

/// Starts the program of a file, as restricted as the kernel can.
pub(crate) fn spawn(
    mut command: Command,
    file: &Path,
    scratch: &Path,
    settings: &Settings,
) -> io::Result<Child> {
    let paths = Paths::of(file, scratch, settings);
    let rules = ruleset(&paths, settings.sandbox_network).map_err(io::Error::other)?;
    let runtime = Handle::current();
    let thread = Builder::new().name("script-start".to_owned()).spawn(move || {
        let _entered = runtime.enter();
        rules.restrict_self().map_err(io::Error::other)?;
        command.spawn()
    })?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
}

fn ruleset(paths: &Paths, network: bool) -> Result<RulesetCreated, RulesetError> {
    // A server that is run by root could otherwise let a program make, and then read, the device of a disk.
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(DENIED) & !devices;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(DENIED))?
        .scope(Scope::from_all(DENIED))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(DENIED))?;
    }
    rules
        .create()?
        .add_rules(path_beneath_rules(&paths.read, AccessFs::from_read(DENIED)))?
        .add_rules(path_beneath_rules(&paths.write, write))?
        .add_rules(path_beneath_rules(&paths.listed, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(DEVICES, device))
}
