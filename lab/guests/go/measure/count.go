// Adds the loop's notes on a finished block to the tally of each operation.

package measure

import (
	"maps"
	"slices"
)

type count struct {
	names      map[string]*tally
	tallies    [opKinds]*tally
	firstError *string
}

// newCount counts these operations. In requests of many keys, a get is a request of that many keys.
func newCount(operations []string, multiget int) *count {
	c := &count{names: map[string]*tally{}}
	for kind, name := range []string{"get", "set", "get_or_set", "delete", "touch"} {
		if byte(kind) == opGet && multiget > 1 {
			name = "get_many"
		}
		if slices.Contains(operations, name) {
			c.tallies[kind] = newTally(byte(kind) == opGet || byte(kind) == opGetOrSet)
			c.names[name] = c.tallies[kind]
		}
	}
	return c
}

func (c *count) add(b *block) {
	for _, n := range slices.Sorted(maps.Keys(b.errors)) {
		failure := b.errors[n]
		if c.firstError == nil {
			c.firstError = &failure.Text
		}
		c.tallies[b.kind[n]].kinds[failure.Kind]++
	}
	b.settleMisses()
	for place, wrong := range b.wrong {
		c.tallies[place[0]].addWrong(b, outcome(place[1]), wrong)
	}
	for _, segment := range b.segments {
		c.addSegment(b, segment)
	}
}

func (c *count) addSegment(b *block, s segment) {
	origin, then := s.began-s.elapsed, s.began
	for n := s.from; n <= s.to; {
		to := n
		if b.multiget > 1 {
			to = b.requestTo[n]
		}
		end := b.end[to]
		c.tallies[b.kind[n]].add(b, n, to, end-origin, end-then)
		then = end
		n = to + 1
	}
}

// over has the counts of each operation, for the result of the phase.
func (c *count) over(wall int64) map[string]any {
	found := map[string]any{}
	for name, tally := range c.names {
		found[name] = tally.over(wall)
	}
	return found
}
