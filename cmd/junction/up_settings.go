package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
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
				filename.Short(file.Path), strings.Join(members(s), ", "), filename.Short(f.Path)))
			a.screen.Printf("junction: not used: %s\n", a.unheld[len(a.unheld)-1])
		case found != nil:
			a.screen.Printf("junction: what %s says under \"junction\" is not used: %s comes first\n", filename.Short(file.Path), filename.Short(from))
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
		} else if err := launch.ProfileOf(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", filename.Short(from), name, err)
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
		a.screen.Printf("junction: %s: junction.%s: there is no server %q%s\n", filename.Short(from), at, name, orMeant(nearest.Name(name, known)))
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

// settled returns the settings with what flags set in them, and how long it takes to end.
func (o *upOptions) settled(s *settings.Settings) (*settings.Settings, drain, error) {
	merged, err := o.flags.apply(s)
	if err != nil {
		return nil, o.drain, err
	}
	if given := o.flags.set.Changed; given("no-prefix") && (o.noPrefix || s.Names == "none") {
		merged.Names = map[bool]string{true: "none"}[o.noPrefix]
	}
	return merged, o.drains(s.Drain), checkProfile(s, o.profile)
}

// drains returns how long it takes to end: as a flag says, or else the settings.
func (o *upOptions) drains(s *settings.Drain) drain {
	d, given := o.drain, o.flags.set.Changed
	if o.admin != "" && !given("drain-delay") { // somebody can ask whether it is ready
		d.delay = defaultDrainDelay
	}
	if s != nil && s.Delay != nil && !given("drain-delay") {
		d.delay = *s.Delay
	}
	if s != nil && s.Time != nil && !given("drain-time") {
		d.time = *s.Time
	}
	return d
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

// limited makes a limit.
func limited(l settings.Limits, o ratelimit.Options) *ratelimit.Limiter {
	o.Calls, o.In = l.Per()
	o.Bytes, o.BytesIn = l.Volume()
	o.Concurrent = l.Concurrent
	if o.Key != nil && o.Calls > 0 { // a client that waits for its tasks asks about each once a second
		o.Rest = max(restPerCall*o.Calls, minRest)
	}
	return ratelimit.New(o)
}

const (
	// restPerCall is how many requests of a caller may begin for each call that its limit allows: for lists, about tasks.
	restPerCall = 10
	// minRest is how many may in any case: a client that begins asks for all lists.
	minRest = 100
)

// inProfile marks what a request came to; the whole gateway is the empty name.
type inProfile struct{}

func profileOf(ctx context.Context) string {
	name, _ := ctx.Value(inProfile{}).(string)
	return name
}
