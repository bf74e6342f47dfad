//! Virtual machines of Java that a test starts: guests, servers, and the compiler.

use std::env;

/// The variable from which every virtual machine reads further options.
const OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Lets the virtual machines that this process starts compile without optimising. A machine that lives for seconds
/// optimises code for longer than it then runs: this halves its processor time. Options of the user stay.
///
/// # Safety
///
/// No other thread may run yet, because this changes the environment.
pub unsafe fn compile_java_fast() {
    if env::var_os(OPTIONS).is_none() {
        // SAFETY: the caller's promise.
        unsafe { env::set_var(OPTIONS, "-XX:TieredStopAtLevel=1") };
    }
}
