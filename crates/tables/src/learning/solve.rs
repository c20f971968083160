//! Systems of linear equations.

/// Solves `matrix * x = right` by Gaussian elimination with pivoting; `None` if there is no unique solution.
pub(super) fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let (above, below) = matrix.split_at_mut(column + 1);
        let first = &above[column];
        for (row, cells) in below.iter_mut().enumerate() {
            let factor = cells[column] / first[column];
            for (cell, upper) in cells[column..].iter_mut().zip(&first[column..]) {
                *cell -= factor * upper;
            }
            right[column + 1 + row] -= factor * right[column];
        }
    }
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|at| matrix[row][at] * solution[at]).sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    Some(solution)
}
