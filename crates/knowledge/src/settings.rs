//! Declarations of the settings in `props.conf`, `transforms.conf`, `indexes.conf`, `commands.conf`, and of
//! the limits of extraction.

pub(crate) mod commands;
pub(crate) mod indexes;
pub(crate) mod props;
pub(crate) mod transforms;

use conf::Setting;

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[
    crate::ExtractionLimits::SETTINGS,
    commands::SETTINGS,
    commands::UNUSED,
    indexes::SETTINGS,
    indexes::UNUSED,
    props::SETTINGS,
    props::NOTES,
    props::UNUSED,
    transforms::SETTINGS,
    transforms::UNUSED,
];
