//! The settings that compile into knowledge: `props.conf`, `transforms.conf`, `indexes.conf`, and limits of
//! extraction.

pub(crate) mod indexes;
pub(crate) mod props;
pub(crate) mod transforms;

use conf::Setting;

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[
    crate::ExtractionLimits::SETTINGS,
    indexes::SETTINGS,
    indexes::UNUSED,
    props::SETTINGS,
    props::NOTES,
    props::UNUSED,
    transforms::SETTINGS,
    transforms::NOTES,
    transforms::UNUSED,
];
