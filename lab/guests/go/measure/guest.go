// Opens the cache, and carries out the commands.

package measure

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const aliveEach = time.Second

// Guest answers commands.
type Guest struct {
	protocol  *Protocol
	cache     Cache
	crew      *Crew
	plan      *Plan
	evictions int64
	told      time.Time
	last      int64
}

// OpenGuest opens the cache of open.json and greets. It is nil where the cache is unavailable.
func OpenGuest(protocol *Protocol, folder string, open func(*Order) (Cache, error)) (*Guest, error) {
	order, err := readOrder(filepath.Join(folder, "open.json"))
	var cache Cache
	if err == nil {
		cache, err = open(order)
	}
	if err != nil {
		return nil, protocol.answer(map[string]any{"unavailable": FailureOf(err).Text}, nil)
	}
	settings := collectorSettings()
	maps.Copy(settings, cache.Settings())
	guest := &Guest{protocol: protocol, cache: cache, crew: NewCrew(cache)}
	return guest, protocol.answer(map[string]any{
		"protocol": protocolVersion,
		"language": "go " + strings.TrimPrefix(runtime.Version(), "go"),
		"cache":    cache.Title(),
		"settings": settings,
	}, nil)
}

// Serve answers commands until there are no more.
func (g *Guest) Serve() error {
	defer g.cache.Close()
	for {
		line, ok := g.protocol.line()
		if !ok || line == "end" {
			return nil
		}
		name, rest, _ := strings.Cut(line, " ")
		answer, bytes, err := g.obey(name, strings.Fields(rest), rest)
		g.protocol.running(false)
		if err != nil {
			answer = FailureOf(err).answer()
		}
		if err := g.protocol.answer(answer, bytes); err != nil {
			return err
		}
	}
}

func (g *Guest) obey(name string, arguments []string, rest string) (map[string]any, []byte, error) {
	wanted, known := map[string]int{"set": 3, "get": 1, "delete": 1, "touch": 2, "load": 1, "run": 1}[name]
	if !known {
		return nil, nil, Fail(badUse, "unknown command: "+strings.TrimSpace(name+" "+rest))
	}
	if len(arguments) < wanted {
		return nil, nil, Fail(badUse, fmt.Sprintf("%s needs %d arguments", name, wanted))
	}
	switch name {
	case "set":
		return g.set(arguments)
	case "get":
		return g.get(arguments)
	case "load":
		return g.load(rest)
	case "run":
		return g.run(arguments[0])
	default:
		return g.change(name, arguments)
	}
}

func (g *Guest) set(arguments []string) (map[string]any, []byte, error) {
	key, err := g.bytes(arguments[0])
	if err != nil {
		return nil, nil, err
	}
	value, err := g.bytes(arguments[1])
	if err != nil {
		return nil, nil, err
	}
	ttl, err := ttlOf(arguments[2])
	if err != nil {
		return nil, nil, err
	}
	if err := g.cache.Set(string(key), value, ttl); err != nil {
		return nil, nil, err
	}
	g.cache.Finish()
	return map[string]any{"stored": true}, nil, nil
}

func (g *Guest) get(arguments []string) (map[string]any, []byte, error) {
	key, err := g.bytes(arguments[0])
	if err != nil {
		return nil, nil, err
	}
	value, err := g.cache.Get(string(key))
	if err != nil {
		return nil, nil, err
	}
	if value == nil {
		return map[string]any{"found": nil}, nil, nil
	}
	return map[string]any{"found": len(value)}, value, nil
}

// change deletes or touches.
func (g *Guest) change(name string, arguments []string) (map[string]any, []byte, error) {
	key, err := g.bytes(arguments[0])
	if err != nil {
		return nil, nil, err
	}
	var wasThere bool
	if name == "delete" {
		wasThere, err = g.cache.Delete(string(key))
	} else {
		var ttl time.Duration
		if ttl, err = ttlOf(arguments[1]); err == nil {
			wasThere, err = g.cache.Touch(string(key), ttl)
		}
	}
	g.cache.Finish()
	return map[string]any{"found": wasThere}, nil, err
}

func (g *Guest) load(folder string) (map[string]any, []byte, error) {
	// The plan before may be as large, so it goes first.
	if g.plan != nil {
		g.plan.Free()
	}
	g.plan = nil
	plan, err := ReadPlan(folder)
	if err != nil {
		return nil, nil, err
	}
	g.plan = plan
	answer := map[string]any{"loaded": true}
	if dropped, ok := g.cache.Evictions(); ok {
		g.evictions = dropped
		answer["evictions"] = 0
	}
	return answer, nil, nil
}

func (g *Guest) run(argument string) (map[string]any, []byte, error) {
	number, err := strconv.Atoi(argument)
	switch {
	case err != nil:
		return nil, nil, Fail(badUse, "not a number: "+argument)
	case g.plan == nil:
		return nil, nil, Fail(badUse, "no plan has been loaded")
	case number < 0 || number >= len(g.plan.phases):
		return nil, nil, Fail(badUse, fmt.Sprintf("the plan has no phase %d", number))
	}
	g.protocol.running(true)
	g.told, g.last = time.Now(), 0
	if err := g.crew.Run(g.plan, number, g.tell); err != nil {
		return nil, nil, err
	}
	answer := map[string]any{"ran": number}
	if dropped, ok := g.cache.Evictions(); ok {
		answer["evictions"] = dropped - g.evictions
		g.evictions = dropped
	}
	return answer, nil, nil
}

// tell reports the progress once a second. A guest that waits for idle goroutines does not count as alive.
func (g *Guest) tell(operations int64) {
	if operations == g.last || time.Since(g.told) < aliveEach {
		return
	}
	g.told, g.last = time.Now(), operations
	if err := g.protocol.answer(map[string]any{"alive": operations}, nil); err != nil {
		fmt.Fprintln(os.Stderr, "cannot report the progress:", err)
		os.Exit(1)
	}
}

// bytes reads the bytes of a key or a value, whose length a command tells.
func (g *Guest) bytes(length string) ([]byte, error) {
	count, err := strconv.Atoi(length)
	if err != nil || count < 0 {
		return nil, Fail(badUse, "not a length: "+length)
	}
	return g.protocol.bytes(count)
}

func ttlOf(text string) (time.Duration, error) {
	if text == "-" {
		return Forever, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, Fail(badUse, "not a TTL: "+text)
	}
	return Span(seconds), nil
}
