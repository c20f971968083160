//! A column of numbers.

/// Numbers that mostly fit into 32 bits. Once one does not fit, all of them take 64 bits.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Numbers {
    pub(super) fn with_capacity(len: usize) -> Self {
        Self::Narrow(Vec::with_capacity(len))
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        match self {
            Self::Narrow(numbers) => numbers[at].into(),
            Self::Wide(numbers) => numbers[at],
        }
    }

    pub(super) fn insert(&mut self, at: usize, number: u64) {
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
            Self::Narrow(numbers) => drop(numbers.remove(at)),
            Self::Wide(numbers) => drop(numbers.remove(at)),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Self::Narrow(numbers) => numbers.truncate(len),
            Self::Wide(numbers) => numbers.truncate(len),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match self {
            Self::Narrow(numbers) => numbers.shrink_to_fit(),
            Self::Wide(numbers) => numbers.shrink_to_fit(),
        }
    }
}
