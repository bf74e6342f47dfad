// The course of a phase: operations, and the slowest of them, in bins of equal length from its start. There are at most 32
// bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and the length doubles.
// So sums and maxima stay exact, and a phase ends with 17 to 32 bins.

package measure

const (
	bins        = 32
	shortestBin = 10
)

type timeline struct {
	shift      uint
	operations [bins]int64
	slowest    [bins]int64
}

// add adds operations that ended at this time, in nanoseconds from the start.
func (t *timeline) add(at, took int64, count int) {
	for at>>t.shift >= bins {
		t.merge()
	}
	bin := at >> t.shift
	t.operations[bin] += int64(count)
	t.slowest[bin] = max(t.slowest[bin], took)
}

// over has the bins of a phase that lasted so long, for its result.
func (t *timeline) over(wall int64) map[string]any {
	for wall>>t.shift >= bins {
		t.merge()
	}
	count := wall>>t.shift + 1
	return map[string]any{
		"bin_ns": int64(1) << t.shift,
		"ops":    t.operations[:count],
		"max_ns": t.slowest[:count],
	}
}

func (t *timeline) merge() {
	for bin := range bins / 2 {
		t.operations[bin] = t.operations[2*bin] + t.operations[2*bin+1]
		t.slowest[bin] = max(t.slowest[2*bin], t.slowest[2*bin+1])
	}
	clear(t.operations[bins/2:])
	clear(t.slowest[bins/2:])
	t.shift++
}
