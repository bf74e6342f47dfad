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

// closeReadings is the longest time between two readings that count as one, in nanoseconds.
const closeReadings = 2_000

var (
	base   = time.Now()
	origin = findOrigin()
)

// findOrigin returns the time of base on the system's clock. The processor may be taken away between two readings, which
// would put every later time into the past. So the readings of the one clock are tried until they stand close around one of
// the other. Where they never do, the closest count.
func findOrigin() int64 {
	var found, closest int64 = 0, 1 << 62
	for tries := 0; tries < 1000 && closest > closeReadings; tries++ {
		before := time.Since(base)
		read := readClock(clockMonotonic)
		after := time.Since(base)
		if apart := int64(after - before); apart < closest {
			closest, found = apart, read-int64(before+after)/2
		}
	}
	return found
}

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
