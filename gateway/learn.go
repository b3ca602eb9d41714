package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/paramheader"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
)

// readAll reads the lists of the given kinds, and returns the kinds that changed. A list that
// cannot be read stays unchanged. Only a lost connection ends the reading early. If whole is set,
// lists of other kinds become empty. Only one goroutine reads at a time.
func (m *member) readAll(ctx context.Context, c *mcp.Client, which kinds, whole bool) (changed kinds, err error) {
	select {
	case m.reading <- struct{}{}:
		defer func() { <-m.reading }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return m.read(ctx, c, which, whole)
}

func (m *member) read(ctx context.Context, c *mcp.Client, which kinds, whole bool) (changed kinds, err error) {
	began, now := time.Now(), definitions.Definitions{}
	m.mu.RLock()
	if m.known != nil {
		now = *m.known
	}
	unread, cut := map[string]error{}, map[string]error{}
	maps.Copy(unread, m.unread)
	maps.Copy(cut, m.listsCut)
	m.mu.RUnlock()
	before := now
	for _, k := range allKinds {
		if which&k.bit != 0 || whole {
			delete(unread, k.Name)
			delete(cut, k.Name)
		}
		if which&k.bit == 0 {
			if whole {
				now.SetList(k.Name, nil)
			}
			continue
		}
		entries, err := m.readList(ctx, c, k)
		switch {
		case errors.As(err, new(*cutError)):
			cut[k.Name], err = err, nil
		case errors.As(err, new(*partError)) && len(entries) >= len(now.List(k.Name)):
			err = nil // the pages that were read become the list
		}
		if err == nil {
			now.SetList(k.Name, entries)
			continue
		}
		if ctx.Err() != nil || c.Err() != nil || errors.As(err, new(*loopError)) {
			return 0, err
		}
		var fault *mcp.Error
		if !errors.As(err, &fault) || fault.Code != mcp.CodeMethodNotFound {
			m.gateway.log.Info("gateway: a list cannot be read", "server", m.name, "method", k.Name, "error", err)
			unread[k.Name] = err
		} else {
			now.SetList(k.Name, nil)
		}
	}
	m.setServerInfo(c, &now)
	m.mu.Lock()
	now.Era, now.Read = m.era, began
	first := m.known == nil
	m.known, m.unread, m.listsCut, m.began = &now, unread, cut, began
	m.mu.Unlock()
	// The definitions are stored before middleware can report that one waits for approval, as
	// approval uses the stored definitions. Tools alone are enough to start the server later; it
	// then reads the other lists again.
	if useful := len(unread) == 0 || len(now.Tools) > 0; useful && (first || whole || !now.Equal(&before)) {
		m.remember(&now)
	}
	changed = m.show(nil)
	for _, k := range allKinds {
		if !sameEntries(before.List(k.Name), now.List(k.Name)) {
			changed |= k.bit
		}
	}
	return changed, nil
}

// setServerInfo sets the server's description of itself.
func (m *member) setServerInfo(c *mcp.Client, d *definitions.Definitions) {
	d.Instructions, d.Revision, d.Server = c.Instructions(), c.Revision(), nil
	d.Capabilities, _ = json.Marshal(c.Capabilities()) // encoding structs of strings never fails
	if self := c.Server(); self != nil {
		d.Server, _ = json.Marshal(self)
	}
}

// remember stores the definitions for later processes.
func (m *member) remember(d *definitions.Definitions) {
	if m.upstream.OnRead != nil {
		m.upstream.OnRead(d)
	}
	if m.upstream.Memory == nil {
		return
	}
	if err := m.upstream.Memory.Save(d); err != nil {
		m.gateway.log.Warn("gateway: definitions are not remembered", "server", m.name, "error", err)
	}
}

// forget removes the member's entries from the offer.
func (m *member) forget() {
	m.mu.Lock()
	any := len(m.listings) > 0
	m.listings, m.listedOf, m.known = nil, nil, nil
	m.mu.Unlock()
	if any {
		m.gateway.changedOffer(every)
	}
}

func sameEntries(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// A partError reports that only the first pages of a list could be read.
type partError struct{ why string }

func (e *partError) Error() string { return "only the first pages can be read: " + e.why }

// A cutError reports that a list has more entries or bytes than the limit.
type cutError struct {
	entries int // number of entries that are used
	limit   string
}

func (e *cutError) Error() string {
	return fmt.Sprintf("it is cut after entry %d, as a list may have %s", e.entries, e.limit)
}

// errIntroduced prevents a client that only reads a list from sending server/discover, which the
// gateway has already sent.
var errIntroduced = errors.New("the server has introduced itself")

// readList reads one list of a member. If the error is a cutError, the returned entries are the
// list. If it is a partError, they are the list unless more entries were known before.
func (m *member) readList(ctx context.Context, c *mcp.Client, k kind) (entries []json.RawMessage, err error) {
	if k.Name == skillKind.Name && !skills.Declared(c.Capabilities()) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var met tolerance.Records
	check := &loopCheck{c, m}
	checked := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "server/discover" {
			return mcp.Result{}, errIntroduced
		}
		return check.Handle(ctx, req)
	}), mcp.ClientOptions{Name: m.name, Logger: met.Logger(m.gateway.log, m.name)})
	size := 0
	for raw, err := range checked.List(ctx, k.Name, k.Member) {
		if err != nil {
			return nil, err
		}
		if size += len(raw); len(entries) >= maxListed || size > maxListedBytes {
			m.gateway.log.Warn("gateway: a list is truncated", "server", m.name, "method", k.Name, "entries", len(entries), "bytes", size)
			limit := fmt.Sprintf("%d MiB", maxListedBytes>>20)
			if len(entries) >= maxListed {
				limit = fmt.Sprintf("%d entries", maxListed)
			}
			return entries, &cutError{len(entries), limit}
		}
		entries = append(entries, slices.Clone(raw))
	}
	if why := met.Case(m.name, tolerance.PageFailed); why != "" {
		return entries, &partError{why}
	}
	return entries, nil
}

// listingsOf returns the lists of a member for the offer, after its middleware. If middleware fails
// for a list, the earlier list stays.
func (m *member) listingsOf(around *surroundings, d *definitions.Definitions, before map[string]listing) map[string]listing {
	all := map[string]listing{}
	for _, k := range allKinds {
		var l listing
		entries, err := m.edited(around, k, d.List(k.Name))
		if err != nil {
			m.gateway.log.Warn("gateway: middleware gives no list", "server", m.name, "method", k.Name, "error", err)
			all[k.Name] = before[k.Name]
			continue
		}
		for _, raw := range entries {
			if e, ok := m.entry(k, raw); ok {
				l.entries = append(l.entries, e)
			}
		}
		if k.prefixed() {
			l.unlisted = without(d.List(k.Name), k, l.entries)
		}
		if k.Name == templateKind.Name {
			m.readTemplates(l.entries)
		}
		all[k.Name] = l
	}
	return all
}

// without returns the names of the entries in has that list lacks.
func without(has []json.RawMessage, k kind, list []listed) (names []string) {
	listed := map[string]bool{}
	for _, e := range list {
		listed[e.name] = true
	}
	for _, raw := range has {
		if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, k.Key)); name != "" && !listed[name] {
			names = append(names, name)
		}
	}
	return names
}

// entry returns the fields of an entry that the gateway needs.
func (m *member) entry(k kind, raw json.RawMessage) (listed, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return listed{}, false
	}
	name, ok := jsonrpc.Unquote(jsonrpc.Get(raw, k.Key))
	if !ok || name == "" {
		m.gateway.log.Debug("gateway: an entry without a name is omitted", "server", m.name, "method", k.Name)
		return listed{}, false
	}
	e := listed{name: name, raw: raw}
	if k.Name == skillKind.Name { // a skill decides which member has the files in its folder
		if err := new(skills.Skill).UnmarshalJSON(raw); err != nil {
			m.gateway.log.Warn("gateway: an entry that is not a valid skill is omitted", "server", m.name, "error", err)
			return listed{}, false
		}
	}
	if k.bit == toolKind.bit {
		e.raw = withObjectSchema(raw)
		e.view = apps.Of(jsonrpc.Get(raw, "_meta")).URI
	}
	if k.bit == toolKind.bit && paramheader.Mentions(raw) {
		var err error
		if e.headers, err = paramheader.Fields(jsonrpc.Get(raw, "inputSchema")); err != nil {
			m.gateway.log.Warn("gateway: headers of a tool are not validated", "server", m.name, "tool", name, "error", err)
		}
	}
	return e, true
}

// readTemplates parses the first maxTemplates templates of a list. Clients get the others and the
// invalid ones, too, but no request is routed by them.
func (m *member) readTemplates(entries []listed) {
	if len(entries) > maxTemplates {
		m.gateway.log.Warn("gateway: only the first resource templates of a server are matched", "server", m.name, "templates", len(entries), "matched", maxTemplates)
	}
	for i := range entries[:min(len(entries), maxTemplates)] {
		entries[i].template, _ = uritemplate.Parse(entries[i].name)
		entries[i].loose, _ = uritemplate.ParseLoose(entries[i].name)
	}
}

func (m *member) isKnown() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known != nil
}

// withObjectSchema returns a tool whose input schema has the type object, as the specification
// demands (server/tools). Clients that check the type refuse the whole list if one tool lacks it.
func withObjectSchema(tool json.RawMessage) json.RawMessage {
	input := jsonrpc.Get(tool, "inputSchema")
	object := schema.OfObject(input)
	if bytes.Equal(object, input) {
		return tool
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(tool)+32))
	w.Members(tool, "inputSchema")
	w.Raw("inputSchema", object)
	return w.Bytes()
}
