// The maps that most programs begin with: sync.Map, and a map behind a mutex. An entry has its expiry time, by the
// monotonic clock; an expired entry is removed when its key is asked for. Nothing bounds these caches.

package caches

import (
	"sync"
	"time"

	"larder/guests/go/measure"
)

// entry has a value and its expiry time in nanoseconds; 0 means for ever.
type entry struct {
	value []byte
	end   int64
}

func newEntry(value []byte, ttl time.Duration) *entry {
	if ttl == measure.Forever {
		return &entry{value, 0}
	}
	return &entry{value, measure.Now() + int64(ttl)}
}

func (e *entry) isOver() bool {
	return e.end != 0 && measure.Now() >= e.end
}

func openMap(order *measure.Order) (measure.Cache, error) {
	kind := order.Text("kind", "sync")
	switch kind {
	case "mutex":
		return &lockedMap{kind: kind, lock: &sync.Mutex{}, entries: map[string]*entry{}}, nil
	case "rwmutex":
		lock := &sync.RWMutex{}
		return &lockedMap{kind: kind, lock: lock, reading: lock.RLocker(), entries: map[string]*entry{}}, nil
	default:
		return &syncMap{}, nil
	}
}

func mapSettings(kind string) map[string]string {
	return map[string]string{"kind": kind, "policy": "none: unbounded"}
}

// syncMap is the map of the standard library for many goroutines.
type syncMap struct {
	measure.Plain
	entries sync.Map
}

func (*syncMap) Title() string               { return "sync.Map" }
func (*syncMap) Settings() map[string]string { return mapSettings("sync") }

func (c *syncMap) Get(key string) ([]byte, error) {
	found, ok := c.entries.Load(key)
	if !ok {
		return nil, nil
	}
	if e := found.(*entry); !e.isOver() {
		return e.value, nil
	}
	c.entries.CompareAndDelete(key, found)
	return nil, nil
}

func (c *syncMap) Set(key string, value []byte, ttl time.Duration) error {
	c.entries.Store(key, newEntry(value, ttl))
	return nil
}

func (c *syncMap) Delete(key string) (bool, error) {
	found, ok := c.entries.LoadAndDelete(key)
	return ok && !found.(*entry).isOver(), nil
}

func (c *syncMap) Touch(key string, ttl time.Duration) (bool, error) {
	for {
		found, ok := c.entries.Load(key)
		if !ok || found.(*entry).isOver() {
			return false, nil
		}
		// A value that was set meanwhile stays, and is touched instead.
		if c.entries.CompareAndSwap(key, found, newEntry(found.(*entry).value, ttl)) {
			return true, nil
		}
	}
}

func (c *syncMap) Another() measure.Cache { return c }

// Evictions are none, because nothing bounds the map.
func (*syncMap) Evictions() (int64, bool) { return 0, true }

// lockedMap is a map behind a lock; a second lock is for reads.
type lockedMap struct {
	measure.Plain
	kind    string
	lock    sync.Locker
	reading sync.Locker
	entries map[string]*entry
}

func (c *lockedMap) Title() string               { return "map with a " + c.kind }
func (c *lockedMap) Settings() map[string]string { return mapSettings(c.kind) }

func (c *lockedMap) Get(key string) ([]byte, error) {
	reading := c.reading
	if reading == nil {
		reading = c.lock
	}
	reading.Lock()
	found, ok := c.entries[key]
	reading.Unlock()
	if !ok {
		return nil, nil
	}
	if !found.isOver() {
		return found.value, nil
	}
	c.lock.Lock()
	if c.entries[key] == found {
		delete(c.entries, key)
	}
	c.lock.Unlock()
	return nil, nil
}

func (c *lockedMap) Set(key string, value []byte, ttl time.Duration) error {
	made := newEntry(value, ttl)
	c.lock.Lock()
	c.entries[key] = made
	c.lock.Unlock()
	return nil
}

func (c *lockedMap) Delete(key string) (bool, error) {
	c.lock.Lock()
	found, ok := c.entries[key]
	delete(c.entries, key)
	c.lock.Unlock()
	return ok && !found.isOver(), nil
}

func (c *lockedMap) Touch(key string, ttl time.Duration) (bool, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	found, ok := c.entries[key]
	if !ok || found.isOver() {
		return false, nil
	}
	c.entries[key] = newEntry(found.value, ttl)
	return true, nil
}

func (c *lockedMap) Another() measure.Cache { return c }

// Evictions are none, because nothing bounds the map.
func (*lockedMap) Evictions() (int64, bool) { return 0, true }
