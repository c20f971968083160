//! `geomfilter` and `geom`: shapes of regions for maps.
//!
//! Split: `geomfilter` runs where the rows are; `geom` at the search head, over all rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use exprs::kernel::text;
use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{GeomBounds, GeomCommand, GeomfilterCommand};
use tables::text::geometry::Bounds;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, LookupSource};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for GeomfilterCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name("geom");
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        geomfilter(self, input.frame).map(Step::Next)
    }
}

/// The field that contains the shape.
const GEOM: &str = "geom";
/// The column of a lookup that contains the names of shapes.
const FEATURE: &str = "featureId";

fn bounds(bounds: &GeomBounds) -> Bounds {
    let degrees = |text: &str| text.parse().unwrap_or_default();
    Bounds {
        west: degrees(&bounds.min_x),
        south: degrees(&bounds.min_y),
        east: degrees(&bounds.max_x),
        north: degrees(&bounds.max_y),
    }
}

pub(super) fn geomfilter(command: &GeomfilterCommand, frame: Frame) -> Result<Frame, Error> {
    if frame.kind(GEOM).is_none() {
        return Ok(frame);
    }
    let bounds = bounds(&command.bounds);
    let clip = text("geomfilter", move |row, out| {
        out.push_str(&bounds.clipped(&row.text(0)?)?);
        Some(())
    });
    let value = clip.with(format!("{bounds:?}")).call(vec![frame.field(GEOM)]);
    frame.with_columns(vec![(GEOM.to_owned(), value)])
}

pub(super) fn geom(command: &GeomCommand, span: spl::Span, frame: Frame) -> Result<Step, Error> {
    if command.collection.is_none() {
        let message = "geom needs the name of a lookup with the columns featureId and geom";
        return Err(Error::at(message, span));
    }
    Ok(Step::Materialize(frame, Breaker::table(Geom(command.clone()))))
}

#[derive(Debug)]
struct Geom(GeomCommand);

impl TableOp for Geom {
    fn apply<'a>(
        &'a self,
        mut rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let lookup = self.lookup(env).await?;
            let bounds = bounds(&self.0.bounds);
            let (features, shapes) = (lookup.texts(FEATURE)?, lookup.texts(GEOM)?);
            let mut known: HashMap<&str, String> = HashMap::new();
            for (feature, shape) in features.iter().zip(&shapes) {
                if let (Some(feature), Some(shape)) = (feature, shape)
                    && let Some(shape) = bounds.clipped(shape)
                {
                    known.insert(feature, shape);
                }
            }
            let field = &self.0.featureidfield;
            let named = rows.texts(field)?;
            if self.0.allfeatures {
                let present: HashSet<&str> = named.iter().flatten().map(String::as_str).collect();
                let missing: Vec<&String> =
                    features.iter().flatten().filter(|f| !present.contains(f.as_str())).collect();
                let mut more = Rows::blank(missing.len());
                more.set_texts(field, missing.iter().copied().map(Some));
                for column in rows.columns.iter().filter(|column| column.kind.is_number()) {
                    if !column.name.starts_with('_') {
                        more.set_integers(&column.name, vec![Some(0); missing.len()]);
                    }
                }
                rows = rows.append(more)?;
            }
            let named = rows.texts(field)?;
            let shape = |feature: &Option<String>| known.get(feature.as_deref()?);
            rows.set_texts(GEOM, named.iter().map(shape));
            Ok(rows)
        })
    }
}

impl Geom {
    async fn lookup(&self, env: &PlanningContext<'_>) -> Result<Arc<Rows>, Error> {
        let Some(name) = &self.0.collection else {
            return Err(Error::internal("geom without lookup"));
        };
        let sources = [
            LookupSource::File(name.node.clone()),
            LookupSource::File(format!("{}.csv", name.node)),
            LookupSource::Collection(name.node.clone()),
        ];
        for source in sources {
            let Some(rows) = env.context.host.read_lookup(&source).await? else { continue };
            if rows.column(FEATURE).is_none() || rows.column(GEOM).is_none() {
                let message =
                    format!("the lookup \"{}\" lacks the columns featureId and geom", name.node);
                return Err(Error::at(message, name.span));
            }
            return Ok(rows);
        }
        let message = format!(
            "there is no lookup \"{}\": shapes come from lookups with the columns featureId and \
             geom (GeoJSON), as none are part of Karst",
            name.node
        );
        Err(Error::at(message, name.span))
    }
}
