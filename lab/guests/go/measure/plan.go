// A plan in memory: keys, the pool that values are cut from, operations, and the phases that they are done in.

package measure

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// The kinds of operations.
const (
	opGet byte = iota
	opSet
	opGetOrSet
	opDelete
	opTouch
)

// nothing is the value of a get whose key must be absent. It is larger than the number of any value.
const nothing uint32 = math.MaxUint32

const operationBytes = 16

// Plan has the work of all phases.
type Plan struct {
	folder     string
	processes  int
	ttl        time.Duration
	replays    bool
	phases     []planned
	values     *values
	keys       []byte
	keyAt      []uint64
	keyPlaces  []byte
	operations []byte
	numbers    []atomic.Pointer[numbers]
	hasNumbers sync.Once
}

// numbers are those of one key's values, by the first bytes of each value, which are unique. Of equal short values it has
// the newest. A hot key has thousands of values, and the clock runs during the look-up.
type numbers map[string]uint32

// planned is the work of one phase; shares has the first operation of each process, and their number.
type planned struct {
	Shares     [][2]int `json:"shares"`
	TimeLimitS *float64 `json:"time_limit_s"`
	Multiget   int      `json:"multiget"`
	Again      bool     `json:"again"`
}

// planFile is plan.json.
type planFile struct {
	Pool      string    `json:"pool"`
	Processes int       `json:"processes"`
	TTLS      *float64  `json:"ttl_s"`
	Replays   bool      `json:"replays"`
	Phases    []planned `json:"phases"`
}

// ReadPlan reads the files of a folder.
func ReadPlan(folder string) (*Plan, error) {
	text, err := os.ReadFile(filepath.Join(folder, "plan.json"))
	if err != nil {
		return nil, err
	}
	var file planFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	plan := &Plan{folder: folder, processes: file.Processes, replays: file.Replays, phases: file.Phases}
	if file.TTLS != nil {
		plan.ttl = Span(*file.TTLS)
	}
	if plan.values, err = readValues(filepath.Join(folder, "values.bin"), file.Pool); err != nil {
		return nil, err
	}
	if plan.operations, err = mapFile(filepath.Join(folder, "ops.bin")); err != nil {
		return nil, err
	}
	if plan.keys, err = mapFile(filepath.Join(folder, "keys.bin")); err != nil {
		return nil, err
	}
	return plan, plan.findKeys()
}

// Free gives the memory of the plan back, but for its keys. A cache that works behind its callers may still hold the key
// of a last operation.
func (p *Plan) Free() {
	p.values.free()
	unmap(p.operations)
	unmap(p.keyPlaces)
}

// findKeys notes the place of each key in the file: a number and a length stand before its bytes.
func (p *Plan) findKeys() error {
	count := 0
	for at := 0; at < len(p.keys); count++ {
		at += 8 + int(binary.LittleEndian.Uint32(p.keys[at+4:]))
	}
	var err error
	if p.keyAt, p.keyPlaces, err = numbersOutside(count); err != nil {
		return err
	}
	for at, key := 0, 0; key < count; key++ {
		p.keyAt[key] = uint64(at)
		at += 8 + int(binary.LittleEndian.Uint32(p.keys[at+4:]))
	}
	return nil
}

// key is the text of a key, in the memory of the plan.
func (p *Plan) key(key uint32) string {
	at := p.keyAt[key]
	length := binary.LittleEndian.Uint32(p.keys[at+4:])
	if length == 0 {
		return ""
	}
	return unsafe.String(&p.keys[at+8], int(length))
}

// newest is the number of the value that is stored under a key last; 0 where the key has no value.
func (p *Plan) newest(key uint32) uint32 {
	return binary.LittleEndian.Uint32(p.keys[p.keyAt[key]:])
}

// operation is the kind, the key, the value and the key to store under.
func (p *Plan) operation(n int) (kind byte, key, value, under uint32) {
	record := p.operations[n*operationBytes : (n+1)*operationBytes]
	kind = byte(binary.LittleEndian.Uint32(record))
	key = binary.LittleEndian.Uint32(record[4:])
	value = binary.LittleEndian.Uint32(record[8:])
	return kind, key, value, binary.LittleEndian.Uint32(record[12:])
}

// numbersOf are the numbers of a key's values. The first goroutine to look them up keeps them for all.
func (p *Plan) numbersOf(key uint32) numbers {
	p.hasNumbers.Do(func() { p.numbers = make([]atomic.Pointer[numbers], len(p.keyAt)) })
	if known := p.numbers[key].Load(); known != nil {
		return *known
	}
	of := numbers{}
	for number := p.newest(key); number != 0; number = p.values.previous(number) {
		first := textOf(p.values.first(number))
		if _, ok := of[first]; !ok {
			of[first] = number
		}
	}
	p.numbers[key].Store(&of)
	return of
}

// numberOf is the number of a key's value with these bytes; 0 where the key has no such value. The first bytes give the
// number of the one value to compare with.
func (p *Plan) numberOf(key uint32, got []byte) uint32 {
	number := p.numbersOf(key)[textOf(got[:min(len(got), headerBytes)])]
	if !p.values.isValue(number, got) {
		return 0
	}
	return number
}

// textOf is a view of bytes that do not change.
func textOf(bytes []byte) string {
	return unsafe.String(unsafe.SliceData(bytes), len(bytes))
}

// heldBefore is the number of the value that the null cache holds when a process begins a phase. It is the value that was
// set last, or the fill of the first miss; 0 where the cache is empty.
func (p *Plan) heldBefore(phase, process int) uint32 {
	var held uint32
	for _, earlier := range p.phases[:phase] {
		share := earlier.Shares[process]
		for n := share[0]; n < share[0]+share[1]; n++ {
			kind, _, value, _ := p.operation(n)
			if kind == opSet || kind == opGetOrSet && held == 0 {
				held = value
			}
		}
	}
	return held
}

// limit is the time of a phase, in nanoseconds.
func (p planned) limit() int64 {
	if p.TimeLimitS == nil {
		return math.MaxInt64
	}
	return int64(math.Round(*p.TimeLimitS * 1e9))
}

// again tells whether the first operation follows the last, until the time is over.
func (p planned) again() bool {
	return p.Again && p.TimeLimitS != nil
}
