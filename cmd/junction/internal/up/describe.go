package up

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/launch"
)

// A condition holds the faults of the configuration when it was last read.
type condition struct {
	err      error // not nil if the configuration cannot be used
	problems []string
}

// found stores the faults of the configuration.
func (v *Served) found(set *config.Set, err error) {
	c := &condition{err: err}
	if set != nil {
		for _, p := range set.Problems() {
			c.problems = append(c.problems, reach.Unusable(p, set).Error())
		}
	}
	c.problems = append(c.problems, v.App.Launch.Unheld...)
	v.condition.Store(c)
	if err == nil {
		v.readAt.Store(time.Now().UnixNano())
	}
}

// describe returns the description of this process that junction status shows.
func (v *Served) describe() cli.Instance {
	all := v.Gateway.Members().Status()
	i := cli.Instance{PID: os.Getpid(), Endpoint: cmp.Or(v.endpoint(), "stdio"), Summary: Summary(all), Shares: v.sharesServers(), Servers: []cli.ServerStatus{}}
	i.Folder, _ = v.App.Getwd()
	now := v.Gateway.Layers().Plan()
	entries := map[string]launch.Entry{}
	for _, e := range v.serverEntries() {
		entries[e.Name] = e
	}
	for _, s := range all {
		e := entries[s.Name]
		one := cli.ServerStatus{Name: s.Name, Source: e.Source(), Origin: e.CommandText(), State: s.State.String(), Note: s.Note, Revision: s.Revision, Tools: s.Tools, Prompts: s.Prompts,
			Resources: s.Resources, Templates: s.Templates, Renamed: s.Renamed, Line: Standing(s, false),
			Running: s.Running, Leaving: s.Leaving, Instances: s.Instances, Most: s.MaxInstances, Users: s.Users}
		if one.Read, one.Failing = rememberedAt(s), IsFailing(s); one.Failing {
			one.Tools, one.Prompts, one.Resources, one.Templates = 0, 0, 0, 0
		}
		if s.Err != nil {
			one.Error, one.Remedy = s.Err.Error(), reach.Remedy(s)
		}
		if stray := v.App.StderrOf(s.Name).StrayLine(); stray != "" {
			one.Careful, one.Remedy = stray, cmp.Or(one.Remedy, reach.RemedyStrayOutput)
		} else if refused := v.App.StderrOf(s.Name).Refusals(); refused != "" {
			one.Careful = refused
		}
		one.Omitted = v.App.StderrOf(s.Name).OmittedOperations()
		one.Tolerated = v.App.Launch.Tolerated.Of(s.Name)
		if s.Server != nil {
			one.Server = strings.TrimSpace(s.Server.Name + " " + s.Server.Version)
		}
		if now.Reviews() && one.Source != "" {
			if one.Withheld = v.withheld(s.Name, review.Mode(now.Settings.Review)); len(one.Withheld) > 0 {
				one.Approval = policies.ApproveCommandLine(s.Name, "", one.Source)
			}
		}
		one.Definitions = v.definitionsMark(s.Name)
		i.Servers = append(i.Servers, one)
	}
	i.Tools = v.shown()
	if c := v.condition.Load(); c != nil {
		if i.Problems = c.problems; c.err != nil {
			i.ConfigError = c.err.Error()
		}
	}
	if awaited := v.App.Awaited.Load(); awaited != nil {
		i.Awaited = *awaited
	}
	if refused := v.Refused.Load(); refused != nil {
		i.Problems = slices.Concat(i.Problems, *refused)
	}
	i.Audit = v.Gateway.Layers().Remarks()
	return i
}

// definitionsMark returns a text that changes with the definitions of a server. With it a console
// detects when to load them again. It is empty if no definitions are known.
func (v *Served) definitionsMark(server string) string {
	known, _, _ := v.Gateway.Members().Definitions(server)
	if known == nil {
		return ""
	}
	h := fnv.New64a()
	for _, list := range [][]json.RawMessage{known.Tools, known.Prompts, known.Resources, known.Templates} {
		for _, one := range list {
			h.Write(one)
		}
		h.Write([]byte{0}) // separates two lists
	}
	h.Write([]byte(known.Instructions))
	return strconv.FormatUint(h.Sum64(), 36)
}

// shown returns the number of tools that clients see.
func (v *Served) shown() (t cli.ToolsShown) {
	now := v.Gateway.Layers().Plan().Settings
	t.Mode = now.Tools
	t.Listed, t.Of, t.Searched = search.Options{Mode: search.Mode(now.Tools), Pinned: now.Pin}.Shown(v.Gateway.Members().ToolList())
	return t
}

// withheld returns the names of a server's tools and prompts that are hidden from clients until a
// user approves them.
func (v *Served) withheld(server string, mode review.Mode) (names []string) {
	approved := v.Gateway.Layers().Pins.Load()
	known, _, _ := v.Gateway.Members().Definitions(server)
	if approved == nil || known == nil {
		return nil
	}
	for _, d := range review.Definitions(server, known.Tools, known.Prompts) {
		if mode.Judge(approved, d, approved.Knows(server, d.Kind)) != nil {
			names = append(names, d.Name)
		}
	}
	return names
}
