//! The forwarder.
