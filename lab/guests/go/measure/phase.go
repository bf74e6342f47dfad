// One goroutine's share of a phase: blocks are made ready, worked through, counted. A goroutine alone stops its clock
// while it prepares and counts. Each of several goroutines keeps its clock running, because the others have the cache to
// themselves meanwhile. So each of them prepares and counts as much at once as memory allows, mostly everything.

package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// alone are the limits of a block for a goroutine alone: as much as stays in a processor's cache.
var alone = limits{16_384, 4 << 20}

var several = limits{262_144, 64 << 20}

// segmentNanos is the longest segment of the loop; between segments the progress is published.
const segmentNanos = 250_000_000

type phase struct {
	plan       *Plan
	cache      Cache
	judge      *Judge
	number     int
	process    int
	isAlone    bool
	first      int
	operations int
	limit      int64
	again      bool
	block      *block
	failures   *failures
	loop       *loop
	count      *count
	collector  *collector
	filled     int
	start      int64
	timed      int64
	cpu        int64
	done       atomic.Int64
	isStopped  atomic.Bool
}

func newPhase(plan *Plan, cache Cache, judge *Judge, number, process int) (*phase, error) {
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
	meetsNewer := !isAlone || planned.again()
	block := newBlock(plan, limits, planned.Multiget, meetsNewer, cache.Keeps(), held)
	failures := newFailures(judge, block)
	p := &phase{
		plan: plan, cache: cache, judge: judge, number: number, process: process, isAlone: isAlone,
		first: share[0], operations: share[1], limit: planned.limit(), again: planned.again(),
		block: block, failures: failures, loop: newLoop(cache, block, judge, failures),
		count: newCount(planned.Operations, planned.Multiget), collector: newCollector(),
	}
	if p.operations > 0 {
		p.filled = block.fill(p.first, p.operations)
	}
	return p, nil
}

// run does the share, in the goroutine that owns it.
func (p *phase) run() error {
	position := 0
	for p.filled > 0 && !p.isStopped.Load() {
		if err := p.workThroughBlock(); err != nil {
			return err
		}
		p.count.add(p.block)
		p.failures.nextBlock()
		if p.timed >= p.limit {
			break
		}
		position += p.filled
		if p.again && position == p.operations {
			position = 0
		}
		p.filled = 0
		if position < p.operations {
			p.filled = p.block.fill(p.first+position, p.operations-position)
		}
	}
	return nil
}

func (p *phase) workThroughBlock() error {
	for at := 0; at < p.block.count && p.timed < p.limit && !p.isStopped.Load(); {
		next, began, err := p.workThroughSegment(at)
		if err != nil {
			return err
		}
		elapsed := p.timed
		if p.done.Load() == 0 {
			p.start = began
		}
		if !p.isAlone {
			elapsed = began - p.start
		}
		p.block.segments = append(p.block.segments, segment{at, next - 1, began, elapsed})
		p.timed = elapsed + p.block.end[next-1] - began
		p.done.Add(int64(next - at))
		at = next
	}
	return nil
}

// workThroughSegment runs the loop, and counts the time of the processors and the work of the collector meanwhile. Where
// several goroutines work, their crew counts both.
func (p *phase) workThroughSegment(at int) (next int, began int64, err error) {
	var used int64
	if p.isAlone {
		p.collector.begin()
		used = processTime()
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
		// A reading has more where the collector ran on while this goroutine waited for a processor before the work.
		p.cpu += possible(processTime()-used, p.block.end[next-1]-began)
		p.collector.end()
	}
	return next, began, nil
}

// possible returns the part of a processor time that can belong to work of this length: all processors give no more in
// that time.
func possible(cpu, elapsed int64) int64 {
	return min(cpu, int64(runtime.NumCPU())*elapsed)
}

// writeResult writes the result with this processor time to a file, which gets its name when it is complete.
func (p *phase) writeResult(cpu int64, systemShare float64, found *collected) error {
	system := int64(float64(cpu) * systemShare)
	result := map[string]any{
		"start_ns":      p.start,
		"wall_ns":       p.timed,
		"cpu_user_ns":   cpu - system,
		"cpu_system_ns": system,
		"rss_bytes":     residentBytes(),
		"connections":   p.cache.Connections(),
		"failed":        p.failures.notStored,
		"first_error":   p.count.firstError,
		"tiers":         []any{},
		"operations":    p.count.over(p.timed),
	}
	if found != nil {
		result["collector"] = found
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	file := filepath.Join(p.plan.folder, fmt.Sprintf("ran-%d-%d.json", p.number, p.process))
	if err := os.WriteFile(file+".part", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}
