// Operations made ready for the loop: a list for each of their fields, composed values, and places for the loop's notes.
// A goroutine alone makes them ready while its clock stands still. Each of several goroutines does so before its clock
// starts, unless there are too many operations.

package measure

import (
	"bytes"
	"strings"
)

// The outcomes of an operation. The loop notes an outcome only where it is not done.
const (
	done byte = iota
	missed
	failed
	// filled is a miss that was filled; at unfilled, the fill failed.
	filled
	unfilled
	// other is another value than the expected one.
	other
)

// The kinds of notes: the number of another value of the key, the bytes of a value that is none of the key, and an error.
const (
	numberNote uint32 = iota + 1
	bytesNote
	errorNote
)

const (
	// wholeBytes is the most bytes of other values that a block keeps as they are.
	wholeBytes = 16 << 20
	// beginningBytes is the length of the beginning that a block keeps of the values after these.
	beginningBytes = 64
)

// limits are those of a block.
type limits struct {
	operations int
	bytes      int
}

// segment has operations that followed one another on the clock: the first of them, and when it began.
type segment struct {
	first int
	began int64
}

// note is what Larder must know of an operation beside its outcome. The number is that of a value, or the length of a
// value without a number.
type note struct {
	operation int
	kind      uint32
	number    uint32
	bytes     []byte
}

type block struct {
	plan     *Plan
	multiget int
	kind     []byte
	keyIndex []uint32
	key      []string
	// right is the number of the value that a read is compared with; 0 where no value is right.
	right []uint32
	// under and stored are the key and the value of a set.
	under   []string
	stored  [][]byte
	outcome []byte
	// end is the end time of each operation.
	end []int64
	// requestTo is the last operation of a request, by its first.
	requestTo []int
	segments  []segment
	// notes are in the order of their operations.
	notes []note
	count int

	limits     limits
	meetsNewer bool
	keeps      bool
	composed   map[uint32][]byte
	// arena has the values for a cache that copies them, so that the preparation leaves no garbage.
	arena         []byte
	composedBytes int
	// otherBytes is the length of all values without a number in the notes.
	otherBytes int
	// hasFailed tells whether any operation has failed yet, in this block or before.
	hasFailed bool
	// held is the number of the value that the null cache holds.
	held uint32
}

// newBlock makes a block. With meetsNewer, gets may meet newer values, so the numbers of their keys' values are made ready
// too. A cache that keeps its values gets values of its own.
func newBlock(plan *Plan, limits limits, multiget int, meetsNewer, keeps bool, held uint32) *block {
	room := limits.operations
	b := &block{
		plan:       plan,
		multiget:   multiget,
		kind:       make([]byte, room),
		keyIndex:   make([]uint32, room),
		key:        make([]string, room),
		right:      make([]uint32, room),
		under:      make([]string, room),
		stored:     make([][]byte, room),
		outcome:    make([]byte, room),
		end:        make([]int64, room),
		limits:     limits,
		meetsNewer: meetsNewer && !plan.replays,
		keeps:      keeps,
		composed:   map[uint32][]byte{},
		held:       held,
	}
	if multiget > 1 {
		b.requestTo = make([]int, room)
	}
	return b
}

// fill makes ready as many of the operations from first on as fit, at most so many, and returns their number.
func (b *block) fill(first, most int) int {
	wanted := min(most, b.limits.operations)
	if b.composedBytes >= b.limits.bytes {
		clear(b.composed)
		b.composedBytes = 0
		b.arena = b.arena[:0]
	}
	clear(b.stored)
	clear(b.under)
	clear(b.outcome)
	clear(b.notes)
	b.segments, b.notes = b.segments[:0], b.notes[:0]
	b.otherBytes, b.count = 0, 0
	for b.count < wanted && (b.count == 0 || b.composedBytes < b.limits.bytes) {
		b.prepare(b.count, first+b.count)
		b.count++
	}
	if b.multiget > 1 {
		b.makeRequests()
	}
	return b.count
}

// noteOther notes that an operation got another value than the expected one.
func (b *block) noteOther(n int, got []byte) {
	b.outcome[n] = other
	if !b.plan.replays {
		if number := b.plan.numberOf(b.keyIndex[n], got); number != 0 {
			b.notes = append(b.notes, note{n, numberNote, number, nil})
			return
		}
	}
	length := len(got)
	b.otherBytes += length
	if b.otherBytes > wholeBytes {
		// The clone does not hold the rest of the value in memory.
		got = bytes.Clone(got[:min(length, beginningBytes)])
	}
	b.notes = append(b.notes, note{n, bytesNote, uint32(length), got})
}

// noteFailure notes an outcome with an error. Only the first error has its text.
func (b *block) noteFailure(n int, outcome byte, failure *Failure) {
	b.outcome[n] = outcome
	text := failure.Kind
	if !b.hasFailed {
		text += "\n" + failure.Text
	}
	b.hasFailed = true
	b.notes = append(b.notes, note{n, errorNote, 0, []byte(text)})
}

func (b *block) prepare(n, at int) {
	kind, key, value, under := b.plan.operation(at)
	b.kind[n], b.keyIndex[n], b.key[n] = kind, key, b.plan.key(key)
	b.right[n] = 0
	switch kind {
	case opSet:
		b.held = value
		b.store(n, value, under)
	case opGet:
		b.expect(n, value)
	case opGetOrSet:
		if b.held == 0 {
			b.held = value
		}
		b.expect(n, value)
		b.store(n, b.right[n], under)
	}
}

// expect finds the value that a read is compared with; value is that of the operation.
func (b *block) expect(n int, value uint32) {
	if b.plan.replays {
		value = b.held
	}
	if value == 0 {
		value = b.plan.newest(b.keyIndex[n])
	}
	if value != nothing {
		b.right[n] = value
	}
	if b.meetsNewer {
		b.plan.numbersOf(b.keyIndex[n])
	}
}

// store makes the key and the value of a set. A key is a text of its own, as in a program that makes its keys.
func (b *block) store(n int, number, under uint32) {
	b.under[n] = b.plan.key(under)
	if b.keeps {
		b.under[n] = strings.Clone(b.under[n])
	}
	value, ok := b.composed[number]
	if !ok {
		value = b.compose(number)
		b.composed[number] = value
		b.composedBytes += len(value)
	}
	b.stored[n] = value
}

func (b *block) compose(number uint32) []byte {
	length := b.plan.values.length(number)
	if b.keeps || length > b.limits.bytes {
		return b.plan.values.compose(make([]byte, 0, length), number)
	}
	if b.arena == nil {
		b.arena = make([]byte, 0, b.limits.bytes)
	}
	// A value behind the end of the arena gets memory of its own; the block ends with it.
	from := len(b.arena)
	if from+length > cap(b.arena) {
		return b.plan.values.compose(make([]byte, 0, length), number)
	}
	b.arena = b.plan.values.compose(b.arena, number)
	return b.arena[from:len(b.arena):len(b.arena)]
}

// makeRequests joins successive gets into requests of many keys.
func (b *block) makeRequests() {
	for from := 0; from < b.count; {
		to := from
		if b.kind[from] == opGet {
			for to-from+1 < b.multiget && to+1 < b.count && b.kind[to+1] == opGet {
				to++
			}
		}
		b.requestTo[from] = to
		from = to + 1
	}
}
