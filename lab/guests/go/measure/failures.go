// Counts failures in a row. Where everything fails, the phase is given up.

package measure

import "fmt"

const (
	// inARow is the number of failures in a row after which the phase is given up: the rest would repeat them.
	inARow = 100
	// failingNanos is the time of failures in a row after which the phase is given up.
	failingNanos = 5_000_000_000
)

type failures struct {
	// base is the number of operations before those of the block.
	base         int
	last         int
	row          int
	failingSince int64
}

// add adds the failure of an operation, or of a request, that ended now.
func (f *failures) add(from, to int, now int64, failure *Failure) error {
	if f.row == 0 || f.base+from != f.last+1 {
		f.row = 0
		f.failingSince = now
	}
	f.last = f.base + to
	f.row++
	if f.row > 1 && (f.row >= inARow || now-f.failingSince >= failingNanos) {
		return Fail(failure.Kind, fmt.Sprintf("gave up after %d failures in a row: %s", f.row, failure.Text))
	}
	return nil
}
