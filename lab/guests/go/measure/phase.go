// One goroutine's share of a phase: blocks are made ready, worked through, sent to Larder. A goroutine alone stops its clock
// while it prepares and sends. Each of several goroutines keeps its clock running, because the others have the cache to
// themselves meanwhile. So each of them prepares and sends as much at once as memory allows, mostly everything.

package measure

import "sync/atomic"

// alone are the limits of a block for a goroutine alone: as much as stays in a processor's cache.
var alone = limits{4_096, 4 << 20}

var several = limits{262_144, 64 << 20}

// segmentNanos is the longest segment of the loop; between segments the progress is published.
const segmentNanos = 250_000_000

type phase struct {
	cache      Cache
	isAlone    bool
	first      int
	operations int
	limit      int64
	again      bool
	block      *block
	failures   *failures
	loop       *loop
	record     *record
	usage      *usage
	filled     int
	start      int64
	timed      int64
	done       atomic.Int64
	isStopped  atomic.Bool
}

// newPhase makes the first operations ready. A goroutine alone adds to usage what it uses while its clock runs.
func newPhase(plan *Plan, cache Cache, usage *usage, number, process int) (*phase, error) {
	planned := plan.phases[number]
	share := planned.Shares[process]
	isAlone := plan.processes == 1
	var held uint32
	if plan.replays {
		held = plan.heldBefore(number, process)
	}
	if held != 0 {
		if err := cache.Set("", plan.values.compose(nil, held), Forever); err != nil {
			return nil, err
		}
	}
	limits := several
	if isAlone {
		limits = alone
	}
	limits.operations = min(limits.operations, share[1])
	block := newBlock(plan, limits, planned.Multiget, !isAlone || planned.again(), cache.Keeps(), held)
	failures := &failures{}
	record, err := openRecord(plan.folder, process)
	if err != nil {
		return nil, err
	}
	return &phase{
		cache: cache, isAlone: isAlone, first: share[0], operations: share[1], limit: planned.limit(),
		again: planned.again(), block: block, failures: failures, loop: newLoop(cache, block, failures),
		record: record, usage: usage, filled: block.fill(share[0], share[1]),
	}, nil
}

// run does the share, in the goroutine that owns it.
func (p *phase) run() error {
	for position := 0; p.filled > 0; {
		p.record.awaitCount()
		count, err := p.workThroughBlock()
		if err != nil {
			return err
		}
		p.record.sendBlock(p.block, count)
		p.failures.base += p.filled
		if p.timed >= p.limit || p.isStopped.Load() {
			break
		}
		position += p.filled
		if p.again && position == p.operations {
			position = 0
		}
		p.filled = p.block.fill(p.first+position, p.operations-position)
	}
	return nil
}

// workThroughBlock returns the number of operations that are done.
func (p *phase) workThroughBlock() (int, error) {
	at := 0
	for at < p.filled && p.timed < p.limit && !p.isStopped.Load() {
		next, began, err := p.workThroughSegment(at)
		if err != nil {
			return at, err
		}
		if p.done.Load() == 0 {
			p.start = began
		}
		p.block.segments = append(p.block.segments, segment{at, began})
		end := p.block.end[next-1]
		if p.isAlone {
			p.timed += end - began
		} else {
			p.timed = end - p.start
		}
		p.done.Add(int64(next - at))
		at = next
	}
	return at, nil
}

// workThroughSegment runs the loop, and adds up what a goroutine alone uses meanwhile.
func (p *phase) workThroughSegment(at int) (next int, began int64, err error) {
	if p.isAlone {
		p.usage.begin()
	}
	began = Now()
	next, err = p.loop.run(at, began+min(p.limit-p.timed, segmentNanos))
	if err != nil {
		return next, began, err
	}
	// The wait for operations still under way is part of the last operation.
	if p.cache.Finish() {
		p.block.end[next-1] = Now()
	}
	if p.isAlone {
		p.usage.end(p.block.end[next-1] - began)
	}
	return next, began, nil
}
