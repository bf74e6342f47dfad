// The clock of the program: the monotonic clock of the system, which Larder reads too.

package measure

import (
	"syscall"
	"time"
	"unsafe"
)

const (
	clockMonotonic   = 1
	clockProcessTime = 2
)

var (
	base   = time.Now()
	origin = readClock(clockMonotonic) - int64(time.Since(base))
)

// Now reads the monotonic clock, in nanoseconds. The run-time library reads it without a call of the system.
func Now() int64 {
	return origin + int64(time.Since(base))
}

// readClock reads a clock of the system, in nanoseconds; 0 where the system has no such clock.
func readClock(clock uintptr) int64 {
	var at syscall.Timespec
	_, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)), 0)
	if failed != 0 {
		return 0
	}
	return at.Nano()
}
