//! A type-erased pointer to values.
//!
//! DataFusion's plans and expressions hold each other. Wherever a future that holds one has to be `Send`,
//! the compiler walks through all of their types again, two seconds each time; a trait object it takes at
//! its word.

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
