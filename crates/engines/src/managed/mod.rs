//! Real servers that Larder starts for itself and stops again.
