//! The forwarder program.

fn main() {}
