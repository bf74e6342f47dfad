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
func (c *Crew) Run(plan *Plan, number int, tell func(int64)) error {
	c.caches[0].Ready(plan.processes)
	for len(c.caches) < plan.processes {
		c.caches = append(c.caches, c.caches[0].Another())
	}
	// Goroutines that share a cache share its counter, so only the first of them tells it.
	for _, cache := range c.caches {
		cache.Connections()
	}
	used := newUsage()
	var phases []*phase
	defer func() {
		for _, phase := range phases {
			phase.record.close()
		}
	}()
	for process := range plan.processes {
		phase, err := newPhase(plan, c.caches[process], used, number, process)
		if err != nil {
			return err
		}
		phases = append(phases, phase)
	}
	user, system := userAndSystem()
	if err := work(phases, used, tell); err != nil {
		return err
	}
	userAfter, systemAfter := userAndSystem()
	systemShare := 0.0
	if all := userAfter - user + systemAfter - system; all > 0 {
		systemShare = float64(systemAfter-system) / float64(all)
	}
	return sendEnds(phases, used, systemShare)
}

// sendEnds gives each goroutine a part of the processor time, by the time for which it worked.
func sendEnds(phases []*phase, used *usage, systemShare float64) error {
	var worked int64
	for _, phase := range phases {
		worked += phase.timed
	}
	for process, phase := range phases {
		part := float64(phase.timed) / float64(max(1, worked))
		cpu := possible(int64(float64(used.cpu)*part), phase.timed)
		system := int64(float64(cpu) * systemShare)
		end := map[string]any{
			"cpu_user_ns":   cpu - system,
			"cpu_system_ns": system,
			"rss_bytes":     residentBytes(),
			"connections":   phase.cache.Connections(),
			"tiers":         []any{},
		}
		// The collector is that of the process, so its work is told once.
		if process == 0 {
			end["collector"] = used.collector.found
		}
		if err := phase.record.sendEnd(end); err != nil {
			return err
		}
	}
	return nil
}

// work runs the goroutines to their end, and adds up what several of them use. The first failure ends all of them.
func work(phases []*phase, used *usage, tell func(int64)) error {
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
	began := Now()
	if len(phases) > 1 {
		used.begin()
	}
	close(start)
	attend(phases, isOver, tell)
	if len(phases) > 1 {
		used.end(Now() - began)
	}
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
