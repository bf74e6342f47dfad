// Counts failures in their order. Where everything fails, the phase is given up.

package measure

import "fmt"

const (
	// inARow is the number of failures in a row after which the phase is given up: the rest would repeat them.
	inARow = 100
	// failingNanos is the time of failures in a row after which the phase is given up.
	failingNanos = 5_000_000_000
)

type failures struct {
	judge *Judge
	block *block
	// notStored has the numbers of values that were not acknowledged.
	notStored []uint32
	// base is the number of operations before those of the block.
	base         int
	last         int
	row          int
	failingSince int64
}

func newFailures(judge *Judge, block *block) *failures {
	return &failures{judge: judge, block: block, notStored: []uint32{}, last: -2}
}

// nextBlock goes on to the next filling of the block, whose operations follow the present ones.
func (f *failures) nextBlock() {
	f.base += f.block.count
}

// add adds the failure of an operation, or of all operations of a request.
func (f *failures) add(from, to int, failure *Failure) error {
	for n := from; n <= to; n++ {
		f.block.errors[n] = failure
		f.wasNotDone(n)
	}
	now := f.block.end[to]
	if f.base+from != f.last+1 || f.row == 0 {
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

// wasNotDone notes that the change of a failed operation may not have happened.
func (f *failures) wasNotDone(n int) {
	b := f.block
	switch b.kind[n] {
	case opSet:
		f.judge.distrust(b.keyIndex[n])
		f.notStored = append(f.notStored, b.value[n])
	case opGetOrSet:
		f.judge.distrust(b.underIndex[n])
		f.notStored = append(f.notStored, b.value[n])
	case opDelete:
		f.judge.distrust(b.keyIndex[n])
	}
}
