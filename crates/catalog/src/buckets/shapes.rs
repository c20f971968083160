//! The column of shapes.

use std::sync::Arc;

use model::BucketShape;

use super::numbers::Numbers;

type Shape = Option<Arc<BucketShape>>;

/// Shapes, each once: adjacent buckets mostly share theirs. Removed buckets may leave theirs for a while.
#[derive(Debug, Clone, Default)]
pub(super) struct Shapes {
    known: Vec<Shape>,
    /// Which one each bucket has.
    which: Numbers,
}

/// Returns the number of a shape, which is added if it is new.
fn number_of(known: &mut Vec<Shape>, shape: Shape) -> u64 {
    let is_same = |other: &Shape| match (other, &shape) {
        (Some(other), Some(shape)) => Arc::ptr_eq(other, shape),
        (other, shape) => other.is_none() && shape.is_none(),
    };
    // The last one is the most likely.
    let at = known.iter().rposition(is_same).unwrap_or_else(|| {
        known.push(shape);
        known.len() - 1
    });
    at as u64
}

impl Shapes {
    /// Known shapes, and the number in them that each bucket has.
    pub(super) fn of(known: Vec<Shape>, which: Numbers) -> Self {
        Self { known, which }.without_unused()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Shape> {
        (0..self.which.len()).map(|at| self.get(at))
    }

    pub(super) fn get(&self, at: usize) -> &Shape {
        &self.known[self.number(at)]
    }

    #[allow(clippy::cast_possible_truncation)]
    fn number(&self, at: usize) -> usize {
        self.which.get(at) as usize
    }

    pub(super) fn insert(&mut self, at: usize, shape: Shape) {
        self.which.insert(at, number_of(&mut self.known, shape));
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.which.remove(at);
        if self.known.len() > self.which.len() {
            *self = self.without_unused();
        }
    }

    pub(super) fn truncate(&mut self, upto: usize) {
        self.which.truncate(upto);
        *self = self.without_unused();
    }

    /// Returns the same column without the shapes that no bucket has.
    fn without_unused(&self) -> Self {
        let mut numbers: Vec<Option<u64>> = vec![None; self.known.len()];
        let mut known: Vec<Shape> = Vec::new();
        let renumbered = |at: usize| {
            let number = self.number(at);
            *numbers[number].get_or_insert_with(|| {
                known.push(self.known[number].clone());
                known.len() as u64 - 1
            })
        };
        let which = (0..self.which.len()).map(renumbered).collect();
        known.shrink_to_fit();
        Self { known, which }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.known.shrink_to_fit();
        self.which.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_kept_once_while_a_bucket_has_it() {
        let shapes: Vec<Shape> = vec![None, Some(Arc::default()), Some(Arc::default())];
        let mut column = Shapes::default();
        for at in 0..12 {
            column.insert(at, shapes[at % 3].clone());
        }
        column.insert(0, shapes[2].clone());
        assert_eq!(column.known.len(), 3);
        let count = |at: usize| shapes[at].as_ref().map(Arc::strong_count);
        assert_eq!(
            (count(1), count(2)),
            (Some(2), Some(2)),
            "equal ones that are not shared are two"
        );
        column.remove(0);
        for (at, shape) in column.iter().enumerate() {
            let expected = &shapes[at % 3];
            assert_eq!(shape.as_ref().map(Arc::as_ptr), expected.as_ref().map(Arc::as_ptr), "{at}");
        }
        column.truncate(2);
        assert_eq!((column.iter().count(), column.known.len(), count(2)), (2, 2, Some(1)));
        column.remove(1);
        assert_eq!((column.iter().count(), column.known.len(), count(1)), (1, 1, Some(1)));
        column.remove(0);
        assert_eq!((column.iter().count(), column.known.len()), (0, 0));
    }
}
