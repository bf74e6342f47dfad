// The goroutines that share the work of a phase. All begin together. As in a usual program of this language, they share one
// cache, or one client with its connections.

package measure

import (
	"fmt"
	"sync"
	"time"
)

// attendEach is the longest wait for the goroutines, before the progress is reported.
const attendEach = 250 * time.Millisecond

// Crew runs phases.
type Crew struct {
	caches []Cache
}

// NewCrew works on this cache.
func NewCrew(cache Cache) *Crew {
	return &Crew{[]Cache{cache}}
}

// Run runs a phase, and calls tell with the operations of all goroutines several times a second.
func (c *Crew) Run(plan *Plan, judge *Judge, number int, tell func(int64)) error {
	c.caches[0].Ready(plan.processes)
	for len(c.caches) < plan.processes {
		c.caches = append(c.caches, c.caches[0].Another())
	}
	// Goroutines that share a cache share its counter, so only the first of them tells it.
	for _, cache := range c.caches {
		cache.Connections()
	}
	phases := make([]*phase, plan.processes)
	judges := make([]*Judge, plan.processes)
	for process := range phases {
		judges[process] = judge
		if plan.processes > 1 {
			judges[process] = judge.another()
		}
		var err error
		phases[process], err = newPhase(plan, c.caches[process], judges[process], number, process)
		if err != nil {
			return err
		}
	}
	collector := newCollector()
	collector.begin()
	user, system := userAndSystem()
	used := processTime()
	err := work(phases, tell)
	used = processTime() - used
	userAfter, systemAfter := userAndSystem()
	collector.end()
	for _, other := range judges {
		if other != judge {
			judge.learnFrom(other)
		}
	}
	if err != nil {
		return err
	}
	share := 0.0
	if all := userAfter - user + systemAfter - system; all > 0 {
		share = float64(systemAfter-system) / float64(all)
	}
	return writeResults(phases, used, share, &collector.found)
}

// writeResults gives each goroutine a part of the processor time, by the time for which it worked.
func writeResults(phases []*phase, used int64, systemShare float64, found *collected) error {
	var worked int64
	for _, phase := range phases {
		worked += phase.timed
	}
	for process, phase := range phases {
		cpu := phase.cpu
		if len(phases) == 1 {
			found = &phase.collector.found
		} else {
			cpu = possible(int64(float64(used)*float64(phase.timed)/float64(max(1, worked))), phase.timed)
		}
		// The collector is that of the process, so its work is told once.
		told := found
		if process > 0 {
			told = nil
		}
		if err := phase.writeResult(cpu, systemShare, told); err != nil {
			return err
		}
	}
	return nil
}

// work runs the goroutines to their end. The first failure ends all of them.
func work(phases []*phase, tell func(int64)) error {
	start := make(chan struct{})
	failures := make([]error, len(phases))
	var ready, over sync.WaitGroup
	for process, phase := range phases {
		ready.Add(1)
		over.Go(func() {
			ready.Done()
			<-start
			failures[process] = phase.run()
			if failures[process] != nil {
				for _, each := range phases {
					each.isStopped.Store(true)
				}
			}
		})
	}
	ready.Wait()
	isOver := make(chan struct{})
	go func() {
		over.Wait()
		close(isOver)
	}()
	close(start)
	attend(phases, isOver, tell)
	for process, err := range failures {
		if err == nil {
			continue
		}
		failure := FailureOf(err)
		if len(phases) > 1 {
			of := fmt.Sprintf("process %d of %d: ", process+1, len(phases))
			failure = Fail(failure.Kind, of+failure.Text)
		}
		return failure
	}
	return nil
}

func attend(phases []*phase, isOver <-chan struct{}, tell func(int64)) {
	ticker := time.NewTicker(attendEach)
	defer ticker.Stop()
	for {
		select {
		case <-isOver:
			return
		case <-ticker.C:
			var done int64
			for _, phase := range phases {
				done += phase.done.Load()
			}
			tell(done)
		}
	}
}
