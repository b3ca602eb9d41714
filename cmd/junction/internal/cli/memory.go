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
	maxLearned = 4 << 20          // largest size in bytes of the lists that are read to be stored
	learnTime  = 30 * time.Second // time limit for reading them
)

// A memory holds the store of definitions, which is opened at its first use.
type memory struct {
	once  sync.Once
	store *definitions.Store
}

// Store returns the store of definitions. It returns nil if the store cannot be opened, or if flags
// may change the definitions of servers.
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

// CapabilitiesKey encodes the capabilities of a client as a part of the key of definitions. A
// server may have different tools for different clients.
func CapabilitiesKey(c *mcp.ClientCapabilities) string {
	if c == nil {
		c = new(mcp.ClientCapabilities)
	}
	data, _ := json.Marshal(c) // encoding structs of strings and valid JSON cannot fail
	return string(data)
}

// DefinitionsEntry returns the place of a server's definitions in a store. client encodes the
// capabilities of the only client; it is "" if there may be several clients, or only to list
// definitions. If nothing is stored for that client, the definitions for a client with all
// capabilities are used.
func DefinitionsEntry(store *definitions.Store, s *config.Server, client string) *definitions.Entry {
	return store.Entry(memoryKey(s, client), memoryKey(s, ""), memoryKey(s, CapabilitiesKey(host.Capabilities())))
}

// AgeText returns a clause about the time since read, or "" if read is zero.
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

// RememberLists stores the definitions of a configured server. known holds the entries of the list
// of method; RememberLists requests all other lists. It only logs errors.
func (a *App) RememberLists(ctx context.Context, c *mcp.Client, s *config.Server, method string, known []json.RawMessage) {
	if s == nil || a.Store() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnTime)
	defer cancel()
	d := &definitions.Definitions{Instructions: c.Instructions(), Revision: c.Revision(), Read: time.Now()}
	capabilities := c.Capabilities()
	d.Capabilities, _ = json.Marshal(capabilities) // encoding structs of strings cannot fail
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

// Remember stores the definitions of a configured server that a gateway has read. Chat does not use
// stored definitions, because changed definitions must be reviewed before a call, and not when the
// first call starts the server.
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

// HasList reports whether a server declares a list. Lists of extensions must not be requested
// without that.
func HasList(c mcp.ServerCapabilities, l *revision.Method) bool {
	if l.Name == skills.MethodList {
		return skills.Declared(c)
	}
	return c.List(l.Capability) != nil
}
