//! The name by which programs find the shared library: a version of Larder that changes the interface has another one.

fn main() {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblarder.so.{major}.{minor}");
    println!("cargo::rerun-if-changed=build.rs");
}
