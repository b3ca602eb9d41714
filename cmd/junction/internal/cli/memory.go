package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

const (
	maxLearned = 4 << 20          // limits the bytes of the lists read for the store
	learnTime  = 30 * time.Second // limits the time of reading them
)

// A memory holds the store of definitions, opened at its first use.
type memory struct {
	once  sync.Once
	store *definitions.Store
}

// Store returns the store of definitions. It returns nil if that cannot be opened, or if flags may
// change what servers offer.
func (a *App) Store() *definitions.Store {
	if len(a.Launch.Env)+len(a.Launch.Header) > 0 || a.Launch.Revision != "" {
		return nil
	}
	a.memory.once.Do(func() {
		dir, err := a.Cache("definitions")
		if err == nil {
			a.memory.store, err = definitions.Open(dir)
		}
		if err != nil {
			a.Logger().Warn("the offers of servers are not remembered", "error", err)
		}
	})
	return a.memory.store
}

// CapabilitiesKey encodes the capabilities that a client declared, for the key of definitions: servers
// offer different tools to different clients.
func CapabilitiesKey(c *mcp.ClientCapabilities) string {
	if c == nil {
		c = new(mcp.ClientCapabilities)
	}
	data, _ := json.Marshal(c) // structs of strings and valid JSON always encode
	return string(data)
}

// DefinitionsEntry returns the stored definitions of a server. client is the encoded capabilities of its
// only client; it is empty if there may be several, or for listing only. If nothing is stored for
// the client, those of a client with all capabilities are used.
func DefinitionsEntry(store *definitions.Store, s *config.Server, client string) *definitions.Entry {
	return store.Entry(memoryKey(s, client), memoryKey(s, ""), memoryKey(s, CapabilitiesKey(host.Capabilities())))
}

// AgeText returns the age of something read at a time, as a part of a sentence; empty for the zero
// time.
func AgeText(read time.Time) string {
	if read.IsZero() {
		return ""
	}
	age := time.Since(read)
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(age / unit.size); n > 0 {
			return ", as of " + plaintext.Count(n, unit.name) + " ago"
		}
	}
	return ", as of less than a minute ago"
}

// RememberLists stores what a configured server offers. known holds the entries of the list of method;
// Learn reads the other lists. Errors are logged.
func (a *App) RememberLists(ctx context.Context, c *mcp.Client, s *config.Server, method string, known []json.RawMessage) {
	if s == nil || a.Store() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnTime)
	defer cancel()
	d := &definitions.Definitions{Instructions: c.Instructions(), Revision: c.Revision(), Read: time.Now()}
	capabilities := c.Capabilities()
	d.Capabilities, _ = json.Marshal(capabilities) // structs of strings always encode
	if self := c.Server(); self != nil {
		d.Server, _ = json.Marshal(self)
	}
	size := 0
	for _, l := range revision.Lists() {
		if l.Name == method {
			d.SetList(l.Name, known)
			continue
		}
		if !l.Core && !HasList(capabilities, l) {
			continue
		}
		var entries []json.RawMessage
		for raw, err := range c.List(ctx, l.Name, l.Member) {
			if size += len(raw); size > maxLearned {
				return
			}
			if errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
				break
			}
			if err != nil {
				a.Logger().Debug("the server's offer is not remembered", "server", c.Name(), "method", l.Name, "error", err)
				return
			}
			entries = append(entries, slices.Clone(raw))
		}
		d.SetList(l.Name, entries)
	}
	a.Remember(s, "", d)
}

// Remember stores the definitions that a gateway has read of a configured server. Chat does not use
// stored definitions: changed ones must be reviewed before a call, not when the first call starts
// the server.
func (a *App) Remember(s *config.Server, client string, read *definitions.Definitions) {
	store := a.Store()
	if s == nil || store == nil {
		return
	}
	memory, kept := DefinitionsEntry(store, s, client), *read
	if before := memory.Load(); before != nil && kept.Era == "" {
		kept.Era = before.Era
	}
	if err := memory.Save(&kept); err != nil {
		a.Logger().Warn("the server's offer is not remembered", "server", s.Name, "error", err)
	}
}

// HasList reports whether a server declares a list. Lists of extensions may be requested only
// then.
func HasList(c mcp.ServerCapabilities, l *revision.Method) bool {
	if l.Name == skills.MethodList {
		return skills.Declared(c)
	}
	return c.List(l.Capability) != nil
}
