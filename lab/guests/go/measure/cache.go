// The interface of a cache.

package measure

import "time"

// Forever is the TTL of an entry without one.
const Forever time.Duration = 0

// Cache is an open cache, for all goroutines. An error is the error of the operation.
type Cache interface {
	// Title is the name and version.
	Title() string
	// Settings are the effective settings, as text.
	Settings() map[string]string
	// Get returns the value; nil where the key is absent. A value without bytes is not nil.
	Get(key string) ([]byte, error)
	// Set stores a value. The cache may keep the key and the value.
	Set(key string, value []byte, ttl time.Duration) error
	// Delete tells whether the key was there.
	Delete(key string) (bool, error)
	// Touch renews a TTL, and tells whether the key was there.
	Touch(key string, ttl time.Duration) (bool, error)
	// Another is the same cache for one more goroutine.
	Another() Cache
	// Ready prepares for so many goroutines at once, before any of them works.
	Ready(goroutines int)
	// Finish waits for operations still under way, while the clock runs. It tells whether there may have been any.
	Finish() bool
	// Connections are those opened since the last call; nil where their number is unknown.
	Connections() *int64
	// Evictions are the entries dropped so far to make room; false where their number is unknown.
	Evictions() (int64, bool)
	// Keeps tells whether the cache keeps the values that Set gets, instead of copies.
	Keeps() bool
	Close()
}

// Many is a cache with a request of many keys. Other caches are asked for one key after the other.
type Many interface {
	// GetMany puts the value of each key into found; nil for an absent key. With an error, it has failed for these keys.
	GetMany(keys []string, found [][]byte) error
}

// Plain has the methods that most caches share.
type Plain struct{}

// Touch is an error: the cache cannot renew a TTL.
func (Plain) Touch(string, time.Duration) (bool, error) {
	return false, Fail(Other, "this cache cannot renew a time to live")
}

// Ready does nothing.
func (Plain) Ready(int) {}

// Finish waits for nothing.
func (Plain) Finish() bool { return false }

// Connections are none, because the cache has no servers.
func (Plain) Connections() *int64 { return new(int64) }

// Evictions are unknown.
func (Plain) Evictions() (int64, bool) { return 0, false }

// Keeps holds for a cache of objects.
func (Plain) Keeps() bool { return true }

// Close does nothing.
func (Plain) Close() {}
