//! A type-erased pointer to values.
//!
//! DataFusion's plans and expressions contain each other. Wherever a future that contains one must be `Send`,
//! the compiler checks all of their types again, which takes two seconds each time; for a trait object, the
//! bound is declared.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A shared, immutable value.
pub struct TypeErased<T>(Arc<dyn Held<T>>);

trait Held<T>: Send + Sync {
    fn get(&self) -> &T;
}

impl<T: Send + Sync> Held<T> for T {
    fn get(&self) -> &T {
        self
    }
}

impl<T: Send + Sync + 'static> From<T> for TypeErased<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for TypeErased<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for TypeErased<T> {
    type Target = T;

    fn deref(&self) -> &T {
        Held::get(&*self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for TypeErased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
