package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
)

// watch updates the offer until ctx is done.
func (s *server) watch(ctx context.Context) {
	defer s.settle()
	for {
		changed := s.host.gateway.Changed()
		s.takeUp(ctx)
		select {
		case <-changed:
		case <-s.look:
		case <-ctx.Done():
			return
		}
	}
}

// takeUp updates the offer from the gateway's current definitions of the server.
func (s *server) takeUp(ctx context.Context) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	offered := s.host.gateway.Offered(s.Name)
	from, _ := s.currentDefinitions()
	switch {
	case offered == nil && status.State == gateway.Failed:
		s.failed(status.Err)
	case offered == nil && from != nil:
		s.hold(offer{}, nil)
		return
	case offered == nil:
		return
	case offered != from:
		s.replace(offered, s.read(ctx, offered))
	}
	s.tellLists(status.Err)
	if status.State != gateway.Connecting { // the gateway has the lists slightly before its state is connected
		s.settle()
	}
}

func (s *server) replace(from *definitions.Definitions, fresh offer) {
	s.mu.Lock()
	known, lost := s.from != nil, s.err != nil
	before := s.offer.tools
	s.listed, s.err = true, nil
	s.mu.Unlock()
	s.hold(fresh, from)
	s.setAside(before, fresh.tools)
	switch {
	case lost:
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q is back, with %d tools", s.Name, len(fresh.tools))})
	case known:
		s.tellDifference(before, fresh.tools)
	}
}

// read returns the offer for a server's definitions. It requests the documents of views from the
// server.
func (s *server) read(ctx context.Context, d *definitions.Definitions) offer {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed := decoded[mcp.Tool](s, "tools/list", d.Tools)
	tools := make([]*tool, 0, len(listed))
	seen := make(map[string]bool, len(listed))
	names := model.NewNames() // names of this list only, so that a server that changes all names cannot fill the memory
	for _, t := range listed {
		if t != nil && t.Name != "" && !seen[t.Name] { // if two tools have the same name, the first counts
			seen[t.Name] = true
			tools = append(tools, s.tool(t, names))
		}
	}
	fresh := offer{
		prompts: decoded[mcp.Prompt](s, "prompts/list", d.Prompts), resources: decoded[mcp.Resource](s, "resources/list", d.Resources),
		templates: decoded[mcp.ResourceTemplate](s, "resources/templates/list", d.Templates), tools: tools,
		instructions: d.Instructions,
	}
	if d.Capabilities != nil {
		_ = schema.DecodeLoose(d.Capabilities, &fresh.has) // capabilities that cannot be decoded count as missing
	}
	if info := new(mcp.Implementation); d.Server != nil && schema.DecodeLoose(d.Server, info) == nil {
		fresh.info = info
	}
	fresh.skills = s.readSkills(ctx, decoded[skills.Skill](s, skills.MethodList, d.Skills))
	fresh.views = s.readViews(ctx, fresh.tools)
	return fresh
}

// decoded decodes a list and skips entries that cannot be decoded.
func decoded[T any](s *server, method string, list []json.RawMessage) []*T {
	var all []*T
	for _, raw := range list {
		entry := new(T)
		if err := schema.DecodeLoose(raw, entry); err != nil {
			s.host.log.Debug("an entry of a list cannot be read", "server", s.Name, "method", method, "error", err)
			continue
		}
		all = append(all, entry)
	}
	return all
}

// readViews reads the views of tools, so that a changed view is a changed definition. It reads none
// of a trusted server, whose definitions need no review. A view that cannot be read stays without
// approval, and is tried again with the next lists.
func (s *server) readViews(ctx context.Context, tools []*tool) []*view {
	if s.trusted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	var all []*view
	var seen []string
	size := 0
	for _, t := range tools {
		uri := t.link.URI
		if uri == "" || slices.Contains(seen, uri) || len(seen) == maxViews {
			continue
		}
		seen = append(seen, uri)
		document, err := apps.Read(ctx, s.client, uri)
		if err != nil {
			s.host.log.Debug("a view cannot be read", "server", s.Name, "tool", t.Name, "error", err)
			continue
		}
		if size += len(document.HTML); size > maxViewBytes {
			s.host.log.Debug("views are not read", "server", s.Name, "tool", t.Name, "error", fmt.Sprintf("they have more than %d MiB", maxViewBytes>>20))
			break
		}
		all = append(all, s.view(uri, document))
	}
	return all
}

func (s *server) view(uri string, document *apps.View) *view {
	encoded, _ := schema.Encode(nil, document) // HTML is not encoded; the other fields always can be
	v := &view{definition: guard.Definition{
		Kind: guard.View, Server: s.Name, Name: uri, Schema: encoded,
		Text: fmt.Sprintf("%d bytes of HTML, sha256:%x", len(document.HTML), sha256.Sum256([]byte(document.HTML))),
	}}
	if !s.pinned(v.definition) {
		v.findings = s.host.texts().Scan(document.HTML, guard.Where{Part: guard.InResource, Server: s.Name, Field: "html"})
	}
	return v
}

// Limits of one server's views, each time that its lists are read.
const (
	maxViews     = 32
	maxViewBytes = 16 << 20
	viewTime     = 5 * time.Second // for all views
)

// readSkills returns the usable skills of a list. It adds skills that the model earlier found by
// URI, after requesting them again.
func (s *server) readSkills(ctx context.Context, all []*skills.Skill) []*skills.Skill {
	all = slices.DeleteFunc(all, func(skill *skills.Skill) bool { return !s.takes(skill) })
	for _, known := range s.current().skills {
		if slices.ContainsFunc(all, func(listed *skills.Skill) bool { return listed.URI == known.URI }) {
			continue
		}
		if again, err := skills.Get(ctx, s.client, known.URI); err == nil && s.takes(again) {
			all = append(all, again)
		}
	}
	return all
}

// takes reports whether a skill can be used. A skill whose text is generated on each read cannot be
// approved.
func (s *server) takes(skill *skills.Skill) bool { return !skill.Dynamic || s.trusted() }

// skillOf returns the skill to which a URI belongs, or nil. It prefers the skill that has this URI
// itself, then the innermost approved skill with such a file, then any other.
func (s *server) skillOf(uri string) *skills.Skill {
	var best *skills.Skill
	fits := func(skill *skills.Skill) (rank int) {
		if skill == nil {
			return -1
		}
		rank = len(skill.Root())
		if skill.URI == uri {
			return 2 << 30
		}
		if s.pinned(definitionOfSkill(s.Name, skill)) {
			rank += 1 << 30
		}
		return rank
	}
	for _, skill := range s.current().skills {
		if skill.Has(uri) && fits(skill) > fits(best) {
			best = skill
		}
	}
	return best
}

// unapprovedSkill returns the reason why a file of a skill must not be read, or "" if there is none
// or the skill is unknown.
func (s *server) unapprovedSkill(uri string) string {
	if skill := s.skillOf(uri); skill != nil && !s.pinned(definitionOfSkill(s.Name, skill)) {
		return fmt.Sprintf(skillUnapproved, skill.URI, s.Name)
	}
	return ""
}

// put replaces the skill with the same URI, or adds the skill. It returns false if there are too
// many skills that the server does not list.
func (s *server) put(skill *skills.Skill) bool {
	s.mu.Lock()
	all := slices.Clone(s.offer.skills)
	i := slices.IndexFunc(all, func(known *skills.Skill) bool { return known.URI == skill.URI })
	switch {
	case i >= 0:
		all[i] = skill
	case s.unlisted == maxUnlisted:
		s.mu.Unlock()
		return false
	default:
		all = append(all, skill)
		s.unlisted++
	}
	s.offer.skills = all
	s.mu.Unlock()
	s.host.changes.Add(1)
	return true
}

const (
	maxUnlisted     = 32 // skills of one server that the model found by URI and no list contains
	skillMain       = "/SKILL.md"
	skillUnapproved = "The skill %s of server %q is new or changed, and the user must approve it first. The user is asked before your next step, unless they refused it already; read it again then."
)

// tellLists reports, once, that a list cannot be read or is incomplete.
func (s *server) tellLists(err error) {
	text := ""
	if list, is := errors.AsType[*gateway.ListError](err); is {
		text = s.why(list)
	}
	s.mu.Lock()
	known := s.reported
	s.reported = text
	s.mu.Unlock()
	if text != "" && text != known {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q does not list everything: %s", s.Name, text)})
	}
}

// setAside reports, once, the tools that the model cannot be given.
func (s *server) setAside(old, fresh []*tool) {
	known := make(map[string]string, len(old))
	for _, t := range old {
		known[t.Name] = t.fault
	}
	found := 0
	for _, t := range fresh {
		if t.fault == "" || known[t.Name] == t.fault {
			continue
		}
		if found++; found <= maxFaultsListed {
			s.host.notice(Notice{Kind: NoticeLowered, Server: t.ref.Server, Tool: t.ref.Tool, Text: "was set aside: " + excerpt.Clean(t.fault)})
		}
	}
	if more := found - maxFaultsListed; more > 0 {
		s.host.notice(Notice{Kind: NoticeLowered, Server: s.Name, Text: fmt.Sprintf("%d more tools of server %q were set aside", more, s.Name)})
	}
}

// tellDifference reports how the tools changed. It omits some reports of a server that changes all
// the time.
func (s *server) tellDifference(before, fresh []*tool) {
	what := difference(before, fresh)
	if what == "" {
		return
	}
	if !s.notices.Allow() {
		return
	}
	text := fmt.Sprintf("server %q now has %d tools: %s", s.Name, len(fresh), what)
	if s.notices.Tokens() < 1 {
		text += " (it changes them often; not every change is reported)"
	}
	s.host.notice(Notice{Kind: NoticeTools, Server: s.Name, Text: text})
}

// difference describes how the tools of two offers differ, or returns "".
func difference(old, fresh []*tool) string {
	before := make(map[string]guard.Definition, len(old))
	for _, t := range old {
		before[t.Name] = t.definition
	}
	added, changed := 0, 0
	for _, t := range fresh {
		d, known := before[t.Name]
		delete(before, t.Name)
		switch {
		case !known:
			added++
		case d.Hash() != t.definition.Hash():
			changed++
		}
	}
	var words []string
	for _, c := range []struct {
		many int
		what string
	}{{added, "new"}, {len(before), "gone"}, {changed, "changed"}} {
		if c.many > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.many, c.what))
		}
	}
	return strings.Join(words, ", ")
}

// Rate of notices about changed tools of one server.
const (
	maxToolNotices = 5                // notices in a burst
	toolNoticeTime = 10 * time.Second // time until one more
)

// maxFaultsListed is the number of set-aside tools that are named one by one.
const maxFaultsListed = 10
