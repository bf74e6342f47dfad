// Operations made ready for the loop: a list for each of their fields, composed values, and places for the loop's notes.
// A goroutine alone makes them ready while its clock stands still. Each of several goroutines does so before its clock
// starts, unless there are too many operations.

package measure

import "strings"

// outcome is that of an operation.
type outcome byte

const (
	right outcome = iota
	miss
	damaged
	truncated
	failed
	filled
	unfilled
	stale
	otherKey
	// plannedMiss is a miss of a key that must be absent, which is the right answer.
	plannedMiss
	outcomes
)

// limits are those of a block.
type limits struct {
	operations int
	bytes      int
}

// segment has operations that followed one another on the clock: their start, and the phase's elapsed time at that moment.
type segment struct {
	from, to       int
	began, elapsed int64
}

// wrongValue is an operation and the wrong value that it got.
type wrongValue struct {
	operation int
	got       []byte
}

type block struct {
	plan     *Plan
	multiget int
	kind     []byte
	keyIndex []uint32
	key      []string
	// value is that of the operation, as the plan has it.
	value []uint32
	// right is the number of the value that a read is compared with; 0 where no value is right.
	right      []uint32
	underIndex []uint32
	// under and stored are the key and the value of a set.
	under  []string
	stored [][]byte
	// length has the bytes that each operation moves.
	length  []int32
	outcome []outcome
	// end is the end time of each operation.
	end []int64
	// requestTo is the last operation of a request, by its first.
	requestTo []int
	segments  []segment
	errors    map[int]*Failure
	// wrong has the first wrong operation, by kind and outcome.
	wrong map[[2]byte]wrongValue
	count int

	limits     limits
	meetsNewer bool
	keeps      bool
	composed   map[uint32][]byte
	// arena has the values for a cache that copies them, so that the preparation leaves no garbage.
	arena         []byte
	composedBytes int
	// absent are the gets whose key must be absent.
	absent []int
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
		value:      make([]uint32, room),
		right:      make([]uint32, room),
		underIndex: make([]uint32, room),
		under:      make([]string, room),
		stored:     make([][]byte, room),
		length:     make([]int32, room),
		outcome:    make([]outcome, room),
		end:        make([]int64, room),
		errors:     map[int]*Failure{},
		wrong:      map[[2]byte]wrongValue{},
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
	b.segments = b.segments[:0]
	clear(b.errors)
	clear(b.wrong)
	b.absent = b.absent[:0]
	b.count = 0
	for b.count < wanted && (b.count == 0 || b.composedBytes < b.limits.bytes) {
		b.prepare(b.count, first+b.count)
		b.count++
	}
	if b.multiget > 1 {
		b.makeRequests()
	}
	return b.count
}

// settleMisses marks the misses of keys that must be absent as right, once the failures among them are known.
func (b *block) settleMisses() {
	for _, n := range b.absent {
		if b.outcome[n] == miss {
			b.outcome[n] = plannedMiss
		}
	}
}

// noteWrong keeps, for a kind of operation and a wrong outcome, the first operation and the value that it got.
func (b *block) noteWrong(n int, how outcome, got []byte) {
	place := [2]byte{b.kind[n], byte(how)}
	if _, ok := b.wrong[place]; !ok {
		b.wrong[place] = wrongValue{n, got}
	}
}

func (b *block) prepare(n, at int) {
	b.kind[n], b.keyIndex[n], b.value[n], b.underIndex[n] = b.plan.operation(at)
	b.key[n] = b.plan.key(b.keyIndex[n])
	b.right[n] = 0
	b.length[n] = 0
	switch b.kind[n] {
	case opSet:
		b.held = b.value[n]
		b.store(n, b.held)
	case opGet:
		b.expect(n)
	case opGetOrSet:
		b.expect(n)
		b.store(n, b.right[n])
	}
}

func (b *block) expect(n int) {
	if b.plan.replays {
		if b.held == 0 && b.kind[n] == opGetOrSet {
			b.held = b.value[n]
		}
		b.value[n] = b.held
	}
	number := b.value[n]
	if number == 0 {
		number = b.plan.newest(b.keyIndex[n])
	}
	if number == nothing {
		b.absent = append(b.absent, n)
		number = 0
	}
	b.right[n] = number
	if number != 0 {
		b.length[n] = int32(b.plan.values.length(number))
	}
	if b.meetsNewer {
		b.plan.numbersOf(b.keyIndex[n])
	}
}

// store makes the key and the value of a set. A key is a text of its own, as in a program that makes its keys.
func (b *block) store(n int, number uint32) {
	b.length[n] = int32(b.plan.values.length(number))
	b.under[n] = b.plan.key(b.underIndex[n])
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
