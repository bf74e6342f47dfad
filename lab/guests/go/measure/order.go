// The contents of open.json.

package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"
)

// protocolVersion is the version of the protocol that is spoken here.
const protocolVersion = 3

// Order describes the cache to open: its name, its options, the addresses of its servers, and the settings that a client
// needs.
type Order struct {
	Protocol     int               `json:"protocol"`
	Cache        string            `json:"cache"`
	Options      map[string]any    `json:"options"`
	Servers      []string          `json:"servers"`
	Access       map[string]string `json:"access"`
	RoomBytes    int64             `json:"room_bytes"`
	LargestBytes int64             `json:"largest_bytes"`
}

func readOrder(file string) (*Order, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	order := &Order{}
	if err := json.Unmarshal(text, order); err != nil {
		return nil, err
	}
	if order.Protocol != protocolVersion {
		said := fmt.Sprintf("this guest speaks protocol %d, not %d", protocolVersion, order.Protocol)
		return nil, Fail(badUse, said)
	}
	return order, nil
}

// Text is the text of an option; otherwise where it is not set.
func (o *Order) Text(name, otherwise string) string {
	if text, ok := o.Options[name].(string); ok {
		return text
	}
	return otherwise
}

// Number is an option that is a number, such as a size in bytes; otherwise where it is not set.
func (o *Order) Number(name string, otherwise int64) int64 {
	if number, ok := o.Options[name].(float64); ok {
		return int64(number)
	}
	return otherwise
}

// Switch is an option that is on or off; off where it is not set.
func (o *Order) Switch(name string) bool {
	on, _ := o.Options[name].(bool)
	return on
}

// Span is an option in seconds; otherwise where it is not set.
func (o *Order) Span(name string, otherwise time.Duration) time.Duration {
	if seconds, ok := o.Options[name].(float64); ok {
		return Span(seconds)
	}
	return otherwise
}

// LongestTTL is so long that no sum of a time and a TTL overflows.
const LongestTTL = 100 * 365 * 24 * time.Hour

// Span is a number of seconds as a duration, rounded up: a fraction of a nanosecond would become 0, which means for ever.
func Span(seconds float64) time.Duration {
	// A binary fraction may be too large by this much.
	nanos := math.Ceil(seconds*1e9 - 1e-3)
	return time.Duration(max(1, min(nanos, float64(LongestTTL))))
}

// WholeSeconds is a TTL for a cache that has whole seconds: rounded up, because a fraction would become no TTL.
func WholeSeconds(ttl time.Duration) int64 {
	return int64((ttl + time.Second - 1) / time.Second)
}
