// The count of each latency, rounded to three digits: more digits tell nothing, and few different latencies remain.

package measure

const (
	// exactNanos is the limit below which each number of nanoseconds has a place of its own; above it, each number of
	// three digits.
	exactNanos = 1_000
	inADecade  = 900
	// decades is the number of digits beyond three.
	decades = 16
)

type latencies [exactNanos + decades*inADecade]int64

func (l *latencies) add(nanos int64) {
	l[placeOf(nanos)]++
}

// over has pairs of nanoseconds and count, from the shortest latency on.
func (l *latencies) over() [][2]int64 {
	pairs := [][2]int64{}
	for place, count := range l {
		if count > 0 {
			pairs = append(pairs, [2]int64{nanosOf(place), count})
		}
	}
	return pairs
}

func placeOf(nanos int64) int {
	if nanos < exactNanos {
		return int(nanos)
	}
	unit, decade := int64(10), 0
	for (nanos+unit/2)/unit >= exactNanos {
		unit *= 10
		decade++
	}
	return exactNanos + decade*inADecade + int((nanos+unit/2)/unit) - 100
}

func nanosOf(place int) int64 {
	if place < exactNanos {
		return int64(place)
	}
	nanos := int64(100 + (place-exactNanos)%inADecade)
	for decade := (place - exactNanos) / inADecade; decade >= 0; decade-- {
		nanos *= 10
	}
	return nanos
}
