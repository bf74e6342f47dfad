// The garbage collector: its cycles, its pauses and its processor time while the clock runs. Pauses, in which all goroutines
// stand still, are in the latencies, and its processor time is in the CPU time. Here they are told apart.

package measure

import (
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// collected is the work of the collector.
type collected struct {
	Cycles         int64 `json:"cycles"`
	PauseNs        int64 `json:"pause_ns"`
	LongestPauseNs int64 `json:"longest_pause_ns"`
	CPUNs          int64 `json:"cpu_ns"`
}

// collector watches the collector. The run-time library estimates its processor time, and adds it up at the end of each
// cycle.
type collector struct {
	stats  debug.GCStats
	sample []metrics.Sample
	begun  collected
	found  collected
}

func newCollector() *collector {
	return &collector{sample: []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}}
}

// begin notes the state when the clock starts.
func (c *collector) begin() {
	c.begun = c.read()
}

// end adds the work since the clock started. The run-time library knows the last 256 pauses.
func (c *collector) end() {
	now := c.read()
	cycles := now.Cycles - c.begun.Cycles
	c.found.Cycles += cycles
	c.found.PauseNs += now.PauseNs - c.begun.PauseNs
	c.found.CPUNs += now.CPUNs - c.begun.CPUNs
	for _, pause := range c.stats.Pause[:min(int(cycles), len(c.stats.Pause))] {
		c.found.LongestPauseNs = max(c.found.LongestPauseNs, int64(pause))
	}
}

func (c *collector) read() collected {
	debug.ReadGCStats(&c.stats)
	metrics.Read(c.sample)
	cpu := c.sample[0].Value.Float64()
	return collected{Cycles: c.stats.NumGC, PauseNs: int64(c.stats.PauseTotal), CPUNs: int64(cpu * 1e9)}
}

// collectorSettings are the settings of the run-time library that decide when the collector starts, and how many goroutines
// run at once.
func collectorSettings() map[string]string {
	sample := []metrics.Sample{
		{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/sched/gomaxprocs:threads"},
	}
	metrics.Read(sample)
	settings := map[string]string{}
	for n, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		settings[name] = strconv.FormatUint(sample[n].Value.Uint64(), 10)
	}
	// Without a limit, the run-time library tells the largest number.
	if settings["GOMEMLIMIT"] == strconv.FormatInt(1<<63-1, 10) {
		settings["GOMEMLIMIT"] = "off"
	}
	return settings
}
