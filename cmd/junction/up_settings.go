package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/ratelimit"
)

// settings are what the configuration says of up, with the file that says it; never nil. Those of a project
// count where the command line names its file. Only the first file that has some counts.
func (a *app) settings(set *config.Set) (*settings.Settings, string, error) {
	var found *settings.Settings
	var from string
	a.unheld = nil
	for _, f := range set.Files {
		s, file, err := f.Settings()
		switch {
		case err != nil:
			return nil, "", err
		case s == nil:
		case f.Project && len(a.flags.config) == 0:
			a.unheld = append(a.unheld, fmt.Sprintf("what %s says under \"junction\" (%s), as it belongs to a project; --config %s uses it",
				shortened(file.Path), strings.Join(members(s), ", "), shortened(f.Path)))
			a.screen.Printf("junction: not used: %s\n", a.unheld[len(a.unheld)-1])
		case found != nil:
			a.screen.Printf("junction: what %s says under \"junction\" is not used: %s comes first\n", shortened(file.Path), shortened(from))
		default:
			found, from = s, file.Path
		}
	}
	if found == nil {
		found = &settings.Settings{}
	}
	for _, name := range slices.Sorted(maps.Keys(found.Servers)) { // a server that cannot be confined would end, and not start again
		if s := found.Servers[name].Sandbox; s == nil {
			continue
		} else if err := sandboxProfile(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", shortened(from), name, err)
		}
	}
	return found, from, nil
}

// quietSettings are those that [app.settings] finds, but of others that are not used it says nothing.
func quietSettings(set *config.Set, named bool) (*settings.Settings, error) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err != nil {
			return nil, err
		} else if s != nil && (named || !f.Project) {
			return s, nil
		}
	}
	return &settings.Settings{}, nil
}

// members are the names of what is set.
func members(s *settings.Settings) []string {
	var set map[string]json.RawMessage
	data, err := json.Marshal(s)
	if err != nil || json.Unmarshal(data, &set) != nil {
		return nil // texts and numbers always encode
	}
	return slices.Sorted(maps.Keys(set))
}

// reportUnknown says which servers the settings name that there are not: nothing else would show a slip.
func (a *app) reportUnknown(s *settings.Settings, from string, configured []string) {
	known := append(slices.Clone(configured), shippedNames()...)
	report := func(at, name string) {
		if slices.Contains(known, name) {
			return
		}
		a.screen.Printf("junction: %s: junction.%s: there is no server %q%s\n", shortened(from), at, name, orMeant(nearest.Name(name, known)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		report("servers", name)
	}
	for _, profile := range slices.Sorted(maps.Keys(s.Profiles)) {
		for _, name := range s.Profiles[profile].Servers {
			report("profiles."+profile+".servers", name)
		}
	}
}

// settle has the settings say what no flag does. Paths in them are relative to their file.
func (o *layering) settle(s *settings.Settings, from string, given func(flag string) bool) {
	set := func(flag string, to *string, value string) {
		if value != "" && !given(flag) {
			*to = value
		}
	}
	set("tools", &o.tools, s.Tools)
	if len(s.Pin) > 0 && !given("pin") {
		o.pinned = s.Pin
	}
	set("policy", &o.policy, nextTo(from, s.Policy))
	if s.Shadow && !given("shadow") {
		o.shadow = true
	}
	set("review", &o.review, s.Review)
	if s.Audit != nil && !given("audit") {
		o.audit = cmp.Or(nextTo(from, s.Audit.Folder), usualFolder)
		set("audit-sync", &o.sync, s.Audit.Sync)
		set("audit-keep", &o.keep, s.Audit.Keep)
		if !given("audit-keep-for") {
			o.keepFor = s.Audit.KeepFor
		}
		o.goOn = o.goOn || s.Audit.Optional
		if len(s.Audit.Export) > 0 && !given("audit-export") {
			o.export = s.Audit.Export
		}
	}
}

// nextTo is a path that a file names.
func nextTo(file, named string) string {
	if named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), named)
}

// conflicts are the words of [settings.Settings] for what becomes of a name that two servers give.
func conflicts(word string) gateway.Conflicts {
	return map[string]gateway.Conflicts{"priority": gateway.First, "error": gateway.Refuse}[word] // else gateway.Suffix
}

// apply has the settings of a server say how the gateway holds it.
func apply(u *gateway.Upstream, s settings.Server) {
	if s.Prefix != nil {
		u.Prefix, u.NoPrefix = *s.Prefix, *s.Prefix == ""
	}
	switch s.Isolation {
	case "user":
		u.Isolation = gateway.PerUser
	case "client":
		u.Isolation = gateway.PerClient
	}
	u.MaxInstances, u.IdleTime = s.Instances, s.Idle
	u.Names, u.PromptNames = map[string]string{}, map[string]string{}
	for name, t := range s.Tools {
		u.Names[name] = t.Name
	}
	for name, p := range s.Prompts {
		u.PromptNames[name] = p.Name
	}
}

// edits are the middleware that has what a server offers look as its settings say.
func (now *arrangement) edits(name string, kept *results.Store) (around []mcp.Middleware) {
	s, picks := now.settings.Of(name), now.settings.Select(name)
	o := edit.Options{Tools: map[string]edit.Tool{}, Prompts: entries(s.Prompts), Resources: entries(s.Resources)}
	if !picks.All() {
		o.Keep = func(kind edit.Kind, name string) bool { return picks.Offers(settings.Kind(kind), name) }
	}
	if picks.Tagged() {
		o.Tags = func(kind edit.Kind, name string) []string { return picks.Tags(settings.Kind(kind), name) }
	}
	for tool, t := range s.Tools {
		if t.Title+t.Description != "" || len(t.Fixed)+len(t.Defaults) > 0 {
			o.Tools[tool] = edit.Tool{Title: t.Title, Description: t.Description, Fixed: t.Fixed, Defaults: t.Defaults}
		}
	}
	if s.MaxResult > 0 { // before all that withholds something, of which nothing is kept then
		around = append(around, results.Middleware(results.Options{Server: name, Max: s.MaxResult, Store: kept}))
	}
	if s.Secrets != "" && s.Secrets != "pass" { // before edits, whose fixed arguments may be secrets
		around = append(around, secrets.Middleware(secrets.Options{Arguments: s.Secrets != "results", Results: s.Secrets != "arguments"}))
	}
	if o.Keep != nil || o.Tags != nil || len(o.Tools)+len(o.Prompts)+len(o.Resources) > 0 {
		around = append(around, edit.Middleware(o))
	}
	if l, there := now.limits[limitOf{name, ""}]; there { // first, always: calls that hold one and wait for the other would wait for ever
		around = append(around, l.Around)
	}
	for tool := range s.Tools {
		if l, there := now.limits[limitOf{name, tool}]; there {
			around = append(around, l.Around)
		}
	}
	return around
}

// limitOf says what a limit of all clients together is about.
type limitOf struct{ server, tool string } // no tool: all of the server

// countedLimits know what was counted.
type countedLimits struct {
	settings.Limits
	*ratelimit.Limiter
}

// limitServers makes the limits of servers and their tools.
func (now *arrangement) limitServers() {
	now.limits = map[limitOf]countedLimits{}
	for name, s := range now.settings.Servers {
		if s.Limits != (settings.Limits{}) {
			now.limits[limitOf{name, ""}] = countedLimits{s.Limits, limited(s.Limits, ratelimit.Options{Whose: fmt.Sprintf("server %s", name)})}
		}
		for tool, t := range s.Tools {
			if t.Limits != (settings.Limits{}) {
				now.limits[limitOf{name, tool}] = countedLimits{t.Limits, limited(t.Limits, ratelimit.Options{Whose: fmt.Sprintf("tool %s of server %s", tool, name),
					Matches: func(req *mcp.Request) bool { return req.Method == "tools/call" && req.Name == tool }})}
			}
		}
	}
}

// goOn has the limits that are what they were go on with what was counted, the calls that run among it.
func (now *arrangement) goOn(before *arrangement) {
	if before.settings.Limits == now.settings.Limits {
		now.person = before.person
	}
	for of, l := range now.limits {
		if was, there := before.limits[of]; there && was.Limits == l.Limits {
			now.limits[of] = was
		}
	}
}

// entries are the changes of prompts or resources.
func entries(all map[string]settings.Entry) map[string]edit.Entry {
	changed := map[string]edit.Entry{}
	for name, e := range all {
		if c := (edit.Entry{Title: e.Title, Description: e.Description, Name: e.Name}); c != (edit.Entry{}) {
			changed[name] = c
		}
	}
	return changed
}

// redactions are what is hidden of the calls of each server, and of all in the audit log.
func redactions(s *settings.Settings) (servers map[string]redact.Options, log redact.Paths, err error) {
	var faults []error
	parse := func(at string, paths []string) redact.Paths {
		p, err := redact.Parse(paths...)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", at, err))
		}
		return p
	}
	places := func(at string, r settings.Redact) redact.Places {
		return redact.Places{Arguments: parse(at+".redact.arguments", r.Arguments), Results: parse(at+".redact.results", r.Results)}
	}
	servers = map[string]redact.Options{}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		server, at := s.Servers[name], "servers."+name
		o := redact.Options{All: places(at, server.Redact), Tools: map[string]redact.Places{}}
		for _, tool := range slices.Sorted(maps.Keys(server.Tools)) {
			if p := places(at+".tools."+tool, server.Tools[tool].Redact); !p.None() {
				o.Tools[tool] = p
			}
		}
		if !o.All.None() || len(o.Tools) > 0 {
			servers[name] = o
		}
	}
	if s.Audit != nil {
		log = parse("audit.redact", s.Audit.Redact)
	}
	return servers, log, errors.Join(faults...)
}

// limited makes a limit. What it refuses is a decision in the audit log.
func limited(l settings.Limits, o ratelimit.Options) *ratelimit.Limiter {
	rule := "the limit of " + cmp.Or(o.Whose, "each caller")
	o.OnRefused = func(ctx context.Context, _ *mcp.Request, why error) {
		audit.Decided(ctx, string(policy.Deny), rule, why.Error())
	}
	o.Calls, o.In = l.Per()
	o.Bytes, o.BytesIn = l.Volume()
	o.Concurrent = l.Concurrent
	return ratelimit.New(o)
}

// inProfile marks what a request came to; the whole gateway is the empty name.
type inProfile struct{}

func profileOf(ctx context.Context) string {
	name, _ := ctx.Value(inProfile{}).(string)
	return name
}

func (a *app) newGateway(o upOptions, s *settings.Settings, b *board) *gateway.Gateway {
	return gateway.New(gateway.Options{Name: "junction", Version: version, OneClient: o.stdio, Logger: a.logger(), OnChange: b.changed, PublicErrors: o.knowsCallers(),
		NoPrefix: o.noPrefix || s.Names == "none", Conflicts: conflicts(s.Conflicts), FirstList: firstList})
}
