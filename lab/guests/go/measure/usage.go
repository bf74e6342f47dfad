// Processor time and memory of this process. Goroutines have no processor time of their own, so the time is that of the
// whole process: of all goroutines, of a client's own ones, and of the garbage collector.

package measure

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// processTime is the processor time of this process so far, in nanoseconds.
func processTime() int64 {
	return readClock(clockProcessTime)
}

// userAndSystem is the processor time in the program and in the system's kernel so far, in nanoseconds. The kernel
// estimates both from samples, so only their proportion is used.
func userAndSystem() (user, system int64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return usage.Utime.Nano(), usage.Stime.Nano()
}

// residentBytes is the resident memory of this process.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
