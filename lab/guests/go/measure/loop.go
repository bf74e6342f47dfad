// The measured loop: the floor of the language. It allocates nothing, and reads the clock once an operation, for the end
// of an operation is the start of the next.

package measure

import "time"

type loop struct {
	cache    Cache
	many     Many
	block    *block
	failures *failures
	values   *values
	ttl      time.Duration
	found    [][]byte
}

func newLoop(cache Cache, block *block, failures *failures) *loop {
	plan := block.plan
	many, ok := cache.(Many)
	if !ok {
		many = oneByOne{cache}
	}
	return &loop{cache, many, block, failures, plan.values, plan.ttl, make([][]byte, block.multiget)}
}

// oneByOne asks for one key after the other.
type oneByOne struct{ cache Cache }

func (o oneByOne) GetMany(keys []string, found [][]byte) error {
	for n, key := range keys {
		got, err := o.cache.Get(key)
		if err != nil {
			return err
		}
		found[n] = got
	}
	return nil
}

// run works through the block from an operation on, until all operations are done or it is later than until. It returns
// the first operation left. An error of the cache is the error of its operation, and the next operation follows; too many
// of them end in a failure.
func (l *loop) run(from int, until int64) (int, error) {
	if l.block.multiget > 1 {
		return l.requests(from, until)
	}
	for n := from; n < l.block.count; n++ {
		now, err := l.step(n)
		if err != nil {
			return n, err
		}
		if now > until {
			return n + 1, nil
		}
	}
	return l.block.count, nil
}

// requests does requests of many keys; the operations between them are done one by one.
func (l *loop) requests(from int, until int64) (int, error) {
	n := from
	for n < l.block.count {
		to := l.block.requestTo[n]
		var now int64
		var err error
		if l.block.kind[n] == opGet {
			now, err = l.request(n, to)
		} else {
			now, err = l.step(n)
		}
		if err != nil {
			return n, err
		}
		n = to + 1
		if now > until {
			break
		}
	}
	return n, nil
}

// step does one operation, and returns its end time.
func (l *loop) step(n int) (int64, error) {
	switch l.block.kind[n] {
	case opGet:
		return l.get(n)
	case opSet:
		return l.set(n)
	case opGetOrSet:
		return l.getOrSet(n)
	default:
		return l.change(n)
	}
}

func (l *loop) get(n int) (int64, error) {
	b := l.block
	got, err := l.cache.Get(b.key[n])
	if err != nil {
		return l.fail(n, failed, err)
	}
	now := Now()
	b.end[n] = now
	l.compare(n, got)
	return now, nil
}

func (l *loop) set(n int) (int64, error) {
	b := l.block
	if err := l.cache.Set(b.under[n], b.stored[n], l.ttl); err != nil {
		return l.fail(n, failed, err)
	}
	now := Now()
	b.end[n] = now
	return now, nil
}

func (l *loop) getOrSet(n int) (int64, error) {
	b := l.block
	got, err := l.cache.Get(b.key[n])
	if err != nil {
		return l.fail(n, failed, err)
	}
	if got == nil {
		if err := l.cache.Set(b.under[n], b.stored[n], l.ttl); err != nil {
			return l.fail(n, unfilled, err)
		}
	}
	now := Now()
	b.end[n] = now
	if got == nil {
		b.outcome[n] = filled
	} else {
		l.compare(n, got)
	}
	return now, nil
}

// change deletes or touches.
func (l *loop) change(n int) (int64, error) {
	b := l.block
	var wasThere bool
	var err error
	if b.kind[n] == opDelete {
		wasThere, err = l.cache.Delete(b.key[n])
	} else {
		wasThere, err = l.cache.Touch(b.key[n], l.ttl)
	}
	if err != nil {
		return l.fail(n, failed, err)
	}
	now := Now()
	b.end[n] = now
	if !wasThere {
		b.outcome[n] = missed
	}
	return now, nil
}

// request asks for many keys at once. An error of it is that of each key that was not found, and one failure where nothing
// was found.
func (l *loop) request(from, to int) (int64, error) {
	b := l.block
	found := l.found[:to-from+1]
	clear(found)
	err := l.many.GetMany(b.key[from:to+1], found)
	now := Now()
	var failure *Failure
	if err != nil {
		failure = FailureOf(err)
	}
	isFailure := err != nil
	for n := from; n <= to; n++ {
		b.end[n] = now
		got := found[n-from]
		if got == nil && err != nil {
			b.noteFailure(n, failed, failure)
			continue
		}
		l.compare(n, got)
		isFailure = false
	}
	if isFailure {
		return now, l.failures.add(from, to, now, failure)
	}
	return now, nil
}

// compare notes the outcome of a read.
func (l *loop) compare(n int, got []byte) {
	b := l.block
	switch {
	case got == nil:
		b.outcome[n] = missed
	case !l.values.isValue(b.right[n], got):
		b.noteOther(n, got)
	}
}

func (l *loop) fail(n int, outcome byte, err error) (int64, error) {
	now := Now()
	failure := FailureOf(err)
	l.block.end[n] = now
	l.block.noteFailure(n, outcome, failure)
	return now, l.failures.add(n, n, now, failure)
}
