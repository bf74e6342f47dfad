// Processor time and memory of this process. Goroutines have no processor time of their own, so the time is that of the
// whole process: of all goroutines, of a client's own ones, and of the garbage collector.

package measure

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// usage adds up the processor time of this process and the work of the collector, while the clock runs.
type usage struct {
	collector *collector
	begun     int64
	cpu       int64
}

func newUsage() *usage {
	return &usage{collector: newCollector()}
}

// begin notes the state when the clock starts.
func (u *usage) begin() {
	u.collector.begin()
	u.begun = processTime()
}

// end adds what was used since the clock started, after so much time on the clock. A reading has more than is possible
// where the collector ran on while this goroutine waited for a processor before the work.
func (u *usage) end(elapsed int64) {
	u.cpu += possible(processTime()-u.begun, elapsed)
	u.collector.end()
}

// possible returns the part of a processor time that can belong to work of this length: all processors give no more in
// that time.
func possible(cpu, elapsed int64) int64 {
	return min(cpu, int64(runtime.NumCPU())*elapsed)
}

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
