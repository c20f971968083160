//! Moving averages.

use std::collections::VecDeque;

use spl::ast::TrendKind;

/// A moving average.
#[derive(Debug)]
pub struct Average {
    kind: TrendKind,
    period: usize,
    /// The last numbers, at most one period; empty for exponential averages.
    window: VecDeque<f64>,
    count: usize,
    exponential: f64,
}

impl Average {
    /// Creates an average over a number of values.
    #[must_use]
    pub fn new(kind: TrendKind, period: usize) -> Self {
        Self { kind, period, window: VecDeque::new(), count: 0, exponential: 0.0 }
    }

    /// Adds a number and returns the average; `None` until a period is complete.
    #[allow(clippy::cast_precision_loss)]
    pub fn next(&mut self, number: f64) -> Option<f64> {
        self.count = self.count.saturating_add(1);
        let period = self.period as f64;
        if self.kind == TrendKind::Exponential {
            // The documented formula, in which the weight is that of the past.
            let past = if self.count == 1 { 0.0 } else { 2.0 / (period + 1.0) };
            self.exponential = past * self.exponential + (1.0 - past) * number;
        } else {
            if self.window.len() == self.period {
                self.window.pop_front();
            }
            self.window.push_back(number);
        }
        if self.count < self.period {
            return None;
        }
        let sum = |weight: fn(usize) -> f64| {
            let weighted = self.window.iter().enumerate();
            weighted.map(|(at, number)| weight(at) * number).sum::<f64>()
        };
        Some(match self.kind {
            TrendKind::Simple => sum(|_| 1.0) / period,
            TrendKind::Weighted => sum(|at| (at + 1) as f64) / (period * (period + 1.0) / 2.0),
            TrendKind::Exponential => self.exponential,
        })
    }
}
