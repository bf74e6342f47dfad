// go-redis: one client for all goroutines, with a pool of connections; for several servers, its client of a cluster.

package caches

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"larder/guests/go/measure"
)

// usualTimeout is the package's own limit for an answer.
const usualTimeout = 3 * time.Second

type goRedis struct {
	measure.Plain
	client      redis.UniversalClient
	isCluster   bool
	settings    map[string]string
	connections atomic.Int64
	ctx         context.Context
}

func openRedis(order *measure.Order) (measure.Cache, error) {
	c := &goRedis{isCluster: len(order.Servers) > 1, ctx: context.Background()}
	options, err := c.options(order)
	if err != nil {
		return nil, err
	}
	switch {
	case c.isCluster:
		c.client = redis.NewClusterClient(options.Cluster())
	default:
		simple := options.Simple()
		if strings.HasPrefix(simple.Addr, "/") {
			simple.Network = "unix"
		}
		c.client = redis.NewClient(simple)
	}
	c.settings = map[string]string{
		"protocol":  strconv.Itoa(options.Protocol),
		"servers":   strings.Join(order.Servers, ", "),
		"timeout":   options.ReadTimeout.String(),
		"pool_size": "10 for each processor",
	}
	if options.PoolSize > 0 {
		c.settings["pool_size"] = strconv.Itoa(options.PoolSize)
	}
	return c, c.client.Ping(c.ctx).Err()
}

func (c *goRedis) options(order *measure.Order) (*redis.UniversalOptions, error) {
	timeout := order.Span("timeout", usualTimeout)
	database, _ := strconv.Atoi(order.Access["db"])
	options := &redis.UniversalOptions{
		Addrs:        order.Servers,
		Username:     order.Access["user"],
		Password:     order.Access["password"],
		DB:           database,
		Protocol:     int(order.Number("protocol", 3)),
		PoolSize:     int(order.Number("pool_size", 0)),
		ReadTimeout:  timeout,
		WriteTimeout: timeout,
	}
	var err error
	if order.Access["tls"] == "on" {
		options.TLSConfig, err = trust(order.Access)
	}
	options.Dialer = c.dialer(options.TLSConfig)
	return options, err
}

// dialer counts the connections. It encrypts them itself, because the package leaves this to a given dialer.
func (c *goRedis) dialer(config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer interface {
			DialContext(context.Context, string, string) (net.Conn, error)
		} = &net.Dialer{Timeout: usualTimeout}
		if config != nil {
			dialer = &tls.Dialer{Config: config}
		}
		connection, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			c.connections.Add(1)
		}
		return connection, err
	}
}

// trust is the trust in certificates that the URL asks for.
func trust(access map[string]string) (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: access["insecure"] == "on"}
	if file := access["ca"]; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, measure.Fail(measure.Other, file+" has no certificate in PEM")
		}
	}
	return config, nil
}

func (*goRedis) Title() string { return titled("go-redis", "github.com/redis/go-redis/v9") }

func (c *goRedis) Settings() map[string]string { return c.settings }

func (c *goRedis) Get(key string) ([]byte, error) {
	value, err := c.client.Get(c.ctx, key).Bytes()
	if err == nil {
		return value, nil
	}
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return nil, err
}

func (c *goRedis) Set(key string, value []byte, ttl time.Duration) error {
	err := c.client.Set(c.ctx, key, value, wholeMillis(ttl)).Err()
	if err != nil && strings.HasPrefix(err.Error(), "OOM ") {
		return measure.Fail(measure.Full, err.Error())
	}
	return err
}

// wholeMillis is a TTL in the steps of Redis, rounded up.
func wholeMillis(ttl time.Duration) time.Duration {
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

func (c *goRedis) Delete(key string) (bool, error) {
	count, err := c.client.Del(c.ctx, key).Result()
	return count > 0, err
}

// Touch without a TTL ends the TTL from before; a key that has none is still there.
func (c *goRedis) Touch(key string, ttl time.Duration) (bool, error) {
	if ttl != measure.Forever {
		return c.client.PExpire(c.ctx, key, wholeMillis(ttl)).Result()
	}
	ended, err := c.client.Persist(c.ctx, key).Result()
	if ended || err != nil {
		return ended, err
	}
	count, err := c.client.Exists(c.ctx, key).Result()
	return count > 0, err
}

// GetMany is one MGET. In a cluster it is a pipeline of gets, because an MGET has keys of one slot only.
func (c *goRedis) GetMany(keys []string, values [][]byte) error {
	if c.isCluster {
		return c.pipeline(keys, values)
	}
	found, err := c.client.MGet(c.ctx, keys...).Result()
	for n, value := range found {
		if text, ok := value.(string); ok {
			values[n] = []byte(text)
		}
	}
	return err
}

func (c *goRedis) pipeline(keys []string, values [][]byte) error {
	gets := make([]*redis.StringCmd, len(keys))
	_, failure := c.client.Pipelined(c.ctx, func(pipe redis.Pipeliner) error {
		for n, key := range keys {
			gets[n] = pipe.Get(c.ctx, key)
		}
		return nil
	})
	if errors.Is(failure, redis.Nil) {
		failure = nil
	}
	for n, get := range gets {
		if value, err := get.Bytes(); err == nil {
			values[n] = value
		} else if !errors.Is(err, redis.Nil) {
			failure = err
		}
	}
	return failure
}

func (c *goRedis) Another() measure.Cache { return c }

func (c *goRedis) Connections() *int64 {
	opened := c.connections.Swap(0)
	return &opened
}

func (*goRedis) Keeps() bool { return false }

func (c *goRedis) Close() { _ = c.client.Close() }
