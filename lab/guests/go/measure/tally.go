// Counts, latencies and time line of one operation, made from the loop's notes.

package measure

import "encoding/hex"

// toldBytes is the most bytes of a wrong value in a result.
const toldBytes = 65_536

// wrongWays are the ways in which a value is wrong, as results name them.
var wrongWays = map[string]outcome{
	"damaged": damaged, "truncated": truncated, "stale": stale, "other_key": otherKey,
}

type tally struct {
	isRead     bool
	outcomes   [outcomes]int64
	latencies  latencies
	timeline   timeline
	kinds      map[string]int64
	examples   map[string]any
	operations int64
	bytes      int64
	busy       int64
}

func newTally(isRead bool) *tally {
	t := &tally{isRead: isRead, kinds: map[string]int64{}, examples: map[string]any{}}
	t.timeline.shift = shortestBin
	return t
}

// add adds an operation, or all operations of a request, that ended at this time of the phase.
func (t *tally) add(b *block, from, to int, at, took int64) {
	succeeded := false
	for n := from; n <= to; n++ {
		how := b.outcome[n]
		t.outcomes[how]++
		succeeded = succeeded || how == right || how == filled || how == plannedMiss
		t.bytes += bytesOf(b, n)
	}
	count := to - from + 1
	t.operations += int64(count)
	t.busy += took
	t.timeline.add(at, took, count)
	if succeeded {
		t.latencies.add(took)
	}
}

// addWrong keeps the first value that is wrong in each way, with the key and the value asked for.
func (t *tally) addWrong(b *block, how outcome, wrong wrongValue) {
	for name, way := range wrongWays {
		if _, ok := t.examples[name]; ok || way != how {
			continue
		}
		n := wrong.operation
		value := b.value[n]
		if b.underIndex[n] != b.keyIndex[n] {
			value = 0
		}
		t.examples[name] = map[string]any{
			"key":    b.keyIndex[n],
			"value":  value,
			"length": len(wrong.got),
			"begins": hex.EncodeToString(wrong.got[:min(len(wrong.got), toldBytes)]),
		}
	}
}

// over has the counts for the result of a phase that lasted so long.
func (t *tally) over(wall int64) map[string]any {
	found := map[string]any{
		"ops":            t.operations,
		"hits":           int64(0),
		"misses":         t.outcomes[miss] + t.outcomes[filled] + t.outcomes[unfilled] + t.outcomes[plannedMiss],
		"planned_misses": t.outcomes[plannedMiss],
		"wrong_examples": t.examples,
		"errors":         t.outcomes[failed],
		"failed_fills":   t.outcomes[unfilled],
		"succeeded":      t.outcomes[right] + t.outcomes[filled] + t.outcomes[plannedMiss],
		"bytes":          t.bytes,
		"busy_ns":        t.busy,
		"latencies":      t.latencies.over(),
		"errors_by_kind": t.kinds,
		"timeline":       t.timeline.over(wall),
	}
	if t.isRead {
		found["hits"] = t.outcomes[right]
	}
	wrong := int64(0)
	for name, how := range wrongWays {
		found[name] = t.outcomes[how]
		wrong += t.outcomes[how]
	}
	found["wrong"] = wrong
	return found
}

func bytesOf(b *block, n int) int64 {
	switch b.outcome[n] {
	case miss, failed, unfilled, plannedMiss:
		return 0
	default:
		return int64(b.length[n])
	}
}
