// gomemcache: one client for all goroutines, with a connection for each operation under way. The package keeps two idle
// connections and closes the others. So goroutines above two would connect again and again; here it keeps one for each.

package caches

import (
	"context"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"larder/guests/go/measure"
)

// longestRelative is the limit beyond which the protocol takes a TTL for a point in time.
const longestRelative = 30 * 24 * 60 * 60

type gomemcache struct {
	measure.Plain
	client      *memcache.Client
	servers     []string
	idle        int
	connections atomic.Int64
}

func openGomemcache(order *measure.Order) (measure.Cache, error) {
	selector := &memcache.ServerList{}
	if err := selector.SetServers(order.Servers...); err != nil {
		return nil, err
	}
	c := &gomemcache{servers: order.Servers, idle: int(order.Number("max_idle_conns", 0))}
	c.client = memcache.NewFromSelector(selector)
	c.client.Timeout = order.Span("timeout", memcache.DefaultTimeout)
	c.client.DialContext = c.dial
	c.Ready(1)
	return c, c.client.Ping()
}

// dial counts the connections.
func (c *gomemcache) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: c.client.Timeout}
	connection, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		c.connections.Add(1)
	}
	return connection, err
}

// Ready keeps a connection for each goroutine, unless the URL tells their number.
func (c *gomemcache) Ready(goroutines int) {
	c.client.MaxIdleConns = c.idle
	if c.idle == 0 {
		c.client.MaxIdleConns = max(goroutines, memcache.DefaultMaxIdleConns)
	}
}

func (*gomemcache) Title() string { return titled("gomemcache", "github.com/bradfitz/gomemcache") }

func (c *gomemcache) Settings() map[string]string {
	idle := "one for each goroutine"
	if c.idle > 0 {
		idle = strconv.Itoa(c.idle)
	}
	return map[string]string{
		"max_idle_conns": idle,
		"servers":        strings.Join(c.servers, ", "),
		"timeout":        c.client.Timeout.String(),
	}
}

func (c *gomemcache) Get(key string) ([]byte, error) {
	item, err := c.client.Get(key)
	if err == nil {
		return item.Value, nil
	}
	if errors.Is(err, memcache.ErrCacheMiss) {
		return nil, nil
	}
	return nil, explained(err)
}

func (c *gomemcache) Set(key string, value []byte, ttl time.Duration) error {
	err := c.client.Set(&memcache.Item{Key: key, Value: value, Expiration: expiry(ttl)})
	if err != nil {
		return explained(err)
	}
	return nil
}

func (c *gomemcache) Delete(key string) (bool, error) { return found(c.client.Delete(key)) }

func (c *gomemcache) Touch(key string, ttl time.Duration) (bool, error) {
	return found(c.client.Touch(key, expiry(ttl)))
}

func found(err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if errors.Is(err, memcache.ErrCacheMiss) {
		return false, nil
	}
	return false, explained(err)
}

func (c *gomemcache) GetMany(keys []string, values [][]byte) error {
	items, err := c.client.GetMulti(keys)
	for n, key := range keys {
		if item, ok := items[key]; ok {
			values[n] = item.Value
		}
	}
	if err != nil {
		return explained(err)
	}
	return nil
}

func (c *gomemcache) Another() measure.Cache { return c }

func (c *gomemcache) Connections() *int64 {
	opened := c.connections.Swap(0)
	return &opened
}

func (*gomemcache) Keeps() bool { return false }

func (c *gomemcache) Close() { _ = c.client.Close() }

// expiry is a TTL in whole seconds, or the point in time of its end.
func expiry(ttl time.Duration) int32 {
	seconds := measure.WholeSeconds(ttl)
	if seconds > longestRelative {
		seconds += time.Now().Unix()
	}
	return int32(min(seconds, math.MaxInt32))
}

// explained is the failure by the words of the server, which the package passes on.
func explained(err error) error {
	said := strings.ToLower(err.Error())
	var timeout *memcache.ConnectTimeoutError
	switch {
	case strings.Contains(said, "too large"):
		return measure.Fail(measure.TooLarge, err.Error())
	case strings.Contains(said, "out of memory"):
		return measure.Fail(measure.Full, err.Error())
	case errors.Is(err, memcache.ErrMalformedKey):
		return measure.Fail(measure.BadKey, err.Error())
	case errors.As(err, &timeout):
		return measure.Fail(measure.Timeout, err.Error())
	default:
		return measure.FailureOf(err)
	}
}
