//! Shapes of regions as GeoJSON.

use serde_json::Value;

/// A bounding box in degrees.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The minimum longitude.
    pub west: f64,
    /// The minimum latitude.
    pub south: f64,
    /// The maximum longitude.
    pub east: f64,
    /// The maximum latitude.
    pub north: f64,
}

impl Bounds {
    /// Returns a GeoJSON shape without the points outside the box; `None` if no point is left, or the text is
    /// not JSON.
    #[must_use]
    pub fn clipped(&self, shape: &str) -> Option<String> {
        let mut shape: Value = serde_json::from_str(shape).ok()?;
        self.clip(&mut shape).then(|| shape.to_string())
    }

    /// Removes the points outside the box; returns whether any are left.
    fn clip(&self, value: &mut Value) -> bool {
        match value {
            Value::Array(values) => {
                if let [x, y, ..] = values.as_slice()
                    && let (Some(x), Some(y)) = (x.as_f64(), y.as_f64())
                {
                    return (self.west..=self.east).contains(&x)
                        && (self.south..=self.north).contains(&y);
                }
                values.retain_mut(|value| self.clip(value));
                !values.is_empty()
            }
            Value::Object(members) => {
                let shapes = ["coordinates", "geometry", "geometries", "features"];
                let mut left = true;
                for (name, value) in members.iter_mut() {
                    if shapes.contains(&name.as_str()) {
                        left &= self.clip(value);
                    }
                }
                left
            }
            _ => true,
        }
    }
}
