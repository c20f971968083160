//! Where events come from, one file each. Inputs turn bytes of the outside into [`crate::Input`]s
//! and keep their own limits; what an event is, is the pipeline's decision.

pub mod hec;
mod intake;
pub mod monitor;
pub mod oneshot;
mod syslog;
pub mod tcp;
pub mod udp;
