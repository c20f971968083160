//! A column of numbers.

/// Numbers that mostly fit into 32 bits. Once one does not fit, all of them take 64 bits; while all are
/// equal, they take nothing.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    Same { number: u64, len: usize },
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Same { number: 0, len: 0 }
    }
}

impl FromIterator<u64> for Numbers {
    /// The column has no unused capacity.
    fn from_iter<T: IntoIterator<Item = u64>>(numbers: T) -> Self {
        let mut wide: Vec<u64> = numbers.into_iter().collect();
        let first = wide.first().copied().unwrap_or_default();
        if wide.iter().all(|number| *number == first) {
            return Self::Same { number: first, len: wide.len() };
        }
        let narrow = wide.iter().map(|number| u32::try_from(*number));
        match narrow.collect::<Result<Vec<u32>, _>>() {
            Ok(mut narrow) => {
                narrow.shrink_to_fit();
                Self::Narrow(narrow)
            }
            Err(_) => {
                wide.shrink_to_fit();
                Self::Wide(wide)
            }
        }
    }
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Same { len, .. } => *len,
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        match self {
            Self::Same { number, .. } => *number,
            Self::Narrow(numbers) => numbers[at].into(),
            Self::Wide(numbers) => numbers[at],
        }
    }

    pub(super) fn insert(&mut self, at: usize, number: u64) {
        if let Self::Same { number: same, len } = self {
            if *len == 0 || *same == number {
                *same = number;
                *len += 1;
                return;
            }
            // Doubled from a power of two, it has no unused capacity in a full chunk.
            let mut numbers = Vec::with_capacity((*len + 1).next_power_of_two());
            *self = match u32::try_from(*same) {
                Ok(same) => {
                    numbers.resize(*len, same);
                    Self::Narrow(numbers)
                }
                Err(_) => Self::Wide(vec![*same; *len]),
            };
        }
        if let Self::Narrow(numbers) = self {
            if let Ok(number) = u32::try_from(number) {
                numbers.insert(at, number);
                return;
            }
            *self = Self::Wide(numbers.iter().map(|narrow| u64::from(*narrow)).collect());
        }
        if let Self::Wide(numbers) = self {
            numbers.insert(at, number);
        }
    }

    pub(super) fn remove(&mut self, at: usize) {
        match self {
            Self::Same { len, .. } => *len -= 1,
            Self::Narrow(numbers) => drop(numbers.remove(at)),
            Self::Wide(numbers) => drop(numbers.remove(at)),
        }
    }

    pub(super) fn truncate(&mut self, upto: usize) {
        match self {
            Self::Same { len, .. } => *len = upto.min(*len),
            Self::Narrow(numbers) => numbers.truncate(upto),
            Self::Wide(numbers) => numbers.truncate(upto),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match self {
            Self::Same { .. } => {}
            Self::Narrow(numbers) => numbers.shrink_to_fit(),
            Self::Wide(numbers) => numbers.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(numbers: &Numbers) -> Vec<u64> {
        (0..numbers.len()).map(|at| numbers.get(at)).collect()
    }

    proptest! {
        #[test]
        fn a_column_is_as_a_list(
            changes in proptest::collection::vec((0..40_usize, 0..8_usize, any::<bool>()), 0..60),
        ) {
            let known = [0, 7, 7, 7, u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX, 3];
            let (mut column, mut list) = (Numbers::default(), Vec::new());
            for (at, which, is_removed) in changes {
                let at = at % (list.len() + 1);
                if is_removed && at < list.len() {
                    column.remove(at);
                    list.remove(at);
                } else {
                    column.insert(at, known[which]);
                    list.insert(at, known[which]);
                }
                prop_assert_eq!(all(&column), list.clone());
            }
            let collected: Numbers = list.iter().copied().collect();
            prop_assert_eq!(all(&collected), list.clone());
            column.truncate(list.len() / 2);
            column.shrink_to_fit();
            list.truncate(list.len() / 2);
            prop_assert_eq!(all(&column), list);
        }
    }
}
