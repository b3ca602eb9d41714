package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/search"
)

// maxRemark is how much of one remark status shows, in letters.
const maxRemark = 500

// A condition is what is wrong with the configuration as it was last read.
type condition struct {
	err      error // why it cannot be used
	problems []string
}

// found notes what is wrong with the configuration.
func (v *served) found(set *config.Set, err error) {
	c := &condition{err: err}
	if set != nil {
		for _, p := range set.Problems() {
			c.problems = append(c.problems, unusable(p, set).Error())
		}
	}
	v.condition.Store(c)
}

// describe is what junction status shows of this process.
func (v *served) describe() instance {
	g, files := v.gateway, v.sources()
	all := g.Status()
	i := instance{PID: os.Getpid(), Endpoint: cmp.Or(v.endpoint(), "stdio"), Summary: summary(all), Servers: []serverStatus{}}
	i.Folder, _ = os.Getwd()
	now := v.layers.now.Load().options
	for _, s := range all {
		one := serverStatus{Name: s.Name, Source: files[s.Name], State: s.State.String(), Note: s.Note, Revision: s.Revision, Tools: s.Tools, Prompts: s.Prompts,
			Resources: s.Resources, Templates: s.Templates, Renamed: s.Renamed, Line: standing(s, false)}
		if s.Err != nil {
			one.Error = s.Err.Error()
		}
		if s.Server != nil {
			one.Server = strings.TrimSpace(s.Server.Name + " " + s.Server.Version)
		}
		if now.review != reviewNone && one.Source != "" {
			one.Withheld = v.withheld(s.Name, review.Mode(now.review))
			one.Added = v.layers.added.of(s.Name)
		}
		i.Servers = append(i.Servers, one)
	}
	i.Tools.Mode = now.tools
	i.Tools.Listed, i.Tools.Of, i.Tools.Searched = search.Options{Mode: search.Mode(now.tools), Pinned: now.pinned}.Shown(g.ToolList())
	if c := v.condition.Load(); c != nil {
		if i.Problems = c.problems; c.err != nil {
			i.ConfigError = c.err.Error()
		}
	}
	return i
}

// withheld are the tools and prompts of a server that clients do not get until somebody approves them.
func (v *served) withheld(server string, mode review.Mode) (names []string) {
	approved := v.layers.pins.Load()
	known, _, _ := v.gateway.Definitions(server)
	if approved == nil || known == nil {
		return nil
	}
	for _, d := range review.Definitions(server, known.Tools, known.Prompts) {
		if mode.Judge(approved, d, review.Known(approved, server, d.Kind)) != nil {
			names = append(names, d.Name)
		}
	}
	return names
}

// remarks are lines about what is not as a person would expect it.
func (i *instance) remarks() (lines []string) {
	if i.ConfigError != "" {
		lines = append(lines, "The configuration cannot be used as it is now; what was there before goes on: "+i.ConfigError)
	}
	for _, problem := range i.Problems {
		lines = append(lines, "Not used: "+problem)
	}
	for _, s := range i.Servers {
		if n := len(s.Withheld); n > 0 {
			lines = append(lines, fmt.Sprintf("Withheld until approved: %s of %s; junction approve %s", someNames(s.Withheld), s.Name, shellWord(s.Name)))
		}
		if len(s.Added) > 0 {
			lines = append(lines, fmt.Sprintf("Added since junction up started, and offered: %s of %s", someNames(s.Added), s.Name))
		}
	}
	if t := i.Tools; t.Searched {
		lines = append(lines, fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", count(t.Listed, "tool"), t.Of, t.Mode))
	}
	return lines
}
