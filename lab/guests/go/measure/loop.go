// The measured loop: the floor of the language. It allocates nothing, and reads the clock once an operation, for the end
// of an operation is the start of the next.

package measure

import "time"

type loop struct {
	cache    Cache
	many     Many
	block    *block
	judge    *Judge
	failures *failures
	values   *values
	ttl      time.Duration
	found    [][]byte
}

func newLoop(cache Cache, block *block, judge *Judge, failures *failures) *loop {
	plan := block.plan
	many, ok := cache.(Many)
	if !ok {
		many = oneByOne{cache}
	}
	return &loop{cache, many, block, judge, failures, plan.values, plan.ttl, make([][]byte, block.multiget)}
}

// oneByOne asks for one key after the other.
type oneByOne struct{ cache Cache }

func (o oneByOne) GetMany(keys []string, found [][]byte) error {
	for n, key := range keys {
		var err error
		if found[n], err = o.cache.Get(key); err != nil {
			return err
		}
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
		return l.failed(n, n, failed, err)
	}
	now := Now()
	b.end[n] = now
	l.judgeRead(n, got)
	return now, nil
}

func (l *loop) set(n int) (int64, error) {
	b := l.block
	if err := l.cache.Set(b.under[n], b.stored[n], l.ttl); err != nil {
		return l.failed(n, n, failed, err)
	}
	now := Now()
	b.end[n] = now
	return now, nil
}

func (l *loop) getOrSet(n int) (int64, error) {
	b := l.block
	got, err := l.cache.Get(b.key[n])
	if err != nil {
		return l.failed(n, n, failed, err)
	}
	if got == nil {
		if err := l.cache.Set(b.under[n], b.stored[n], l.ttl); err != nil {
			return l.failed(n, n, unfilled, err)
		}
	}
	now := Now()
	b.end[n] = now
	if got == nil {
		b.outcome[n] = filled
	} else {
		l.judgeRead(n, got)
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
		return l.failed(n, n, failed, err)
	}
	now := Now()
	b.end[n] = now
	if !wasThere {
		b.outcome[n] = miss
	}
	return now, nil
}

func (l *loop) request(from, to int) (int64, error) {
	b := l.block
	found := l.found[:to-from+1]
	clear(found)
	if err := l.many.GetMany(b.key[from:to+1], found); err != nil {
		return l.failed(from, to, failed, err)
	}
	now := Now()
	for n := from; n <= to; n++ {
		b.end[n] = now
		l.judgeRead(n, found[n-from])
	}
	return now, nil
}

// judgeRead notes the outcome of a read.
func (l *loop) judgeRead(n int, got []byte) {
	b := l.block
	switch {
	case got == nil:
		b.outcome[n] = miss
	case !l.values.isValue(b.right[n], got):
		b.outcome[n] = l.judge.verdict(b, n, got)
	}
}

func (l *loop) failed(from, to int, how outcome, err error) (int64, error) {
	now := Now()
	for n := from; n <= to; n++ {
		l.block.end[n] = now
		l.block.outcome[n] = how
	}
	return now, l.failures.add(from, to, FailureOf(err))
}
