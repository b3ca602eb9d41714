package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxRemark is how much of one remark status shows, in letters.
const maxRemark = 500

// maxOmittedShown is how many operations of one server that are no tools status shows.
const maxOmittedShown = 5

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
	c.problems = append(c.problems, v.app.unheld...)
	v.condition.Store(c)
}

// describe is what junction status shows of this process.
func (v *served) describe() instance {
	all := v.gateway.Status()
	i := instance{PID: os.Getpid(), Endpoint: cmp.Or(v.endpoint(), "stdio"), Summary: summary(all), Shares: v.sharesServers(), Servers: []serverStatus{}}
	i.Folder, _ = v.app.Getwd()
	now := v.layers.now.Load().settings
	entries := map[string]entry{}
	for _, e := range v.serverEntries() {
		entries[e.name] = e
	}
	for _, s := range all {
		e := entries[s.Name]
		one := serverStatus{Name: s.Name, Source: e.source(), Origin: e.run(), State: s.State.String(), Note: s.Note, Revision: s.Revision, Tools: s.Tools, Prompts: s.Prompts,
			Resources: s.Resources, Templates: s.Templates, Renamed: s.Renamed, Line: standing(s, false),
			Running: s.Running, Leaving: s.Leaving, Instances: s.Instances, Most: s.MaxInstances, Users: s.Users}
		if one.Read, one.Failing = rememberedAt(s), isFailing(s); one.Failing {
			one.Tools, one.Prompts, one.Resources, one.Templates = 0, 0, 0, 0
		}
		if s.Err != nil {
			one.Error, one.Remedy = s.Err.Error(), remedy(s)
		}
		if stray := v.app.stderrOf(s.Name).strayed(); stray != "" {
			one.Careful, one.Remedy = stray, cmp.Or(one.Remedy, onlyMessages)
		} else if refused := v.app.stderrOf(s.Name).wasRefused(); refused != "" {
			one.Careful = refused
		}
		one.Omitted = v.app.stderrOf(s.Name).omits()
		one.Tolerated = v.app.launch.Tolerated.Of(s.Name)
		if s.Server != nil {
			one.Server = strings.TrimSpace(s.Server.Name + " " + s.Server.Version)
		}
		if now.Review != reviewNone && one.Source != "" {
			if one.Withheld = v.withheld(s.Name, review.Mode(now.Review)); len(one.Withheld) > 0 {
				one.Approval = approval(s.Name, "", one.Source)
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
	if awaited := v.app.awaited.Load(); awaited != nil {
		i.Awaited = *awaited
	}
	if refused := v.refused.Load(); refused != nil {
		i.Problems = slices.Concat(i.Problems, *refused)
	}
	i.Audit = v.layers.remarks()
	return i
}

// definitionsMark is another text whenever a server defines something else, so that who shows that asks again; empty where
// nothing is known.
func (v *served) definitionsMark(server string) string {
	known, _, _ := v.gateway.Definitions(server)
	if known == nil {
		return ""
	}
	h := fnv.New64a()
	for _, list := range [][]json.RawMessage{known.Tools, known.Prompts, known.Resources, known.Templates} {
		for _, one := range list {
			h.Write(one)
		}
		h.Write([]byte{0}) // between two lists
	}
	h.Write([]byte(known.Instructions))
	return strconv.FormatUint(h.Sum64(), 36)
}

// shown says how many tools clients see.
func (v *served) shown() (t toolsShown) {
	now := v.layers.now.Load().settings
	t.Mode = now.Tools
	t.Listed, t.Of, t.Searched = search.Options{Mode: search.Mode(now.Tools), Pinned: now.Pin}.Shown(v.gateway.ToolList())
	return t
}

// remark says it for people; empty where they see all.
func (t toolsShown) remark() string {
	if !t.Searched {
		return ""
	}
	return fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", plaintext.Count(t.Listed, "tool"), t.Of, t.Mode)
}

// busy says how many requests run, and how many instances of whom; empty where there is nothing to say.
func (s *serverStatus) busy() (text string) {
	if s.Most > 0 {
		text = fmt.Sprintf("; %d of %s", s.Instances, plaintext.Count(s.Most, "instance"))
		if len(s.Users) > 0 {
			text += " for " + someNames(s.Users)
		}
	}
	if s.Running > 0 {
		text += "; " + plaintext.Count(s.Running, "request") + " running"
	}
	if s.Leaving > 0 {
		text += "; " + plaintext.Count(s.Leaving, "request") + " still running on it as it was configured before"
	}
	return text
}

// withheld are the tools and prompts of a server that clients do not get until somebody approves them.
func (v *served) withheld(server string, mode review.Mode) (names []string) {
	approved := v.layers.pins.Load()
	known, _, _ := v.gateway.Definitions(server)
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

// remarks are lines about what is not as a person would expect it.
func (i *instance) remarks() (lines []string) {
	if i.ConfigError != "" {
		lines = append(lines, "The configuration cannot be used as it is now, so the servers from before keep running: "+i.ConfigError)
	}
	if i.Awaited != "" {
		lines = append(lines, "The configuration changed, and its terminal asks "+i.Awaited+"; the servers from before keep running until it is answered")
	}
	for _, problem := range i.Problems {
		lines = append(lines, "Not used: "+problem)
	}
	lines = append(lines, i.Audit...)
	for _, s := range i.Servers {
		if s.Careful != "" {
			lines = append(lines, fmt.Sprintf("Careful, %s: %s", s.Name, s.Careful))
		}
		if len(s.Tolerated) > 0 {
			lines = append(lines, fmt.Sprintf("Read although the specification has it otherwise, %s:", s.Name))
		}
		for _, line := range s.Tolerated {
			lines = append(lines, "  "+plaintext.Line(line, maxRemark))
		}
		if n := len(s.Omitted); n > 0 {
			lines = append(lines, fmt.Sprintf("No tools of %s, as they cannot be: %s", s.Name, plaintext.Count(n, "operation")))
			for _, line := range s.Omitted[:min(n, maxOmittedShown)] {
				lines = append(lines, "  "+line)
			}
			if n > maxOmittedShown {
				lines = append(lines, fmt.Sprintf("  and %d more (--json shows all)", n-maxOmittedShown))
			}
		}
		if n := len(s.Withheld); n > 0 {
			lines = append(lines, fmt.Sprintf("Withheld until approved: %s of %s; %s", someNames(s.Withheld), s.Name, s.Approval))
		}
	}
	if line := i.Tools.remark(); line != "" {
		lines = append(lines, line)
	}
	return lines
}
