//! Nothing but the union of all dependencies.
//!
//! Cargo builds a dependency with the features that the selected crates ask for, so that
//! `cargo test -p karst-plan` alone would compile DataFusion and Arrow once more. Selected beside any
//! crate (`cargo test -p karst-plan -p karst-unify`), this one makes them the same as in a build of
//! the whole workspace.
