//! The contract suite on every engine of this build.

fn main() {}
