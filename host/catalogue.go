package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// catalogue returns the tools and skills that the model can be given now. The result is cached
// until something changes.
func (h *Host) catalogue() *catalogue { return h.offered.get(h.changes.Load(), h.survey) }

// survey computes the catalogue. It is expensive, because it hashes the definition of each tool to
// check the approval.
func (h *Host) survey() *catalogue {
	c := &catalogue{byName: map[string]*tool{}, byID: map[string]*tool{}, skills: map[*server][]*skills.Skill{}}
	rules := h.currentRules()
	for _, s := range h.servers {
		c.servers = append(c.servers, c.add(s, rules))
		if h.accepted(s) {
			c.skills[s] = slices.DeleteFunc(slices.Clone(s.current().skills), func(skill *skills.Skill) bool { return !s.pinned(definitionOfSkill(s.Name, skill)) })
		}
	}
	return c
}

func (c *catalogue) add(s *server, rules *policy.Policy) ServerTools {
	tools, accepted := s.current().tools, s.host.accepted(s)
	counted := ServerTools{Server: s.Name, Tools: len(tools)}
	for _, t := range tools {
		state := ToolSent
		switch {
		case !t.link.For(apps.Model):
			state = ToolForViews
		case t.fault != "":
			state = ToolSetAside
		case !accepted || !s.pinned(t.definition):
			state = ToolUnapproved
		case rules.Hides(t.ref.Server, t.ref.Tool, policyAnnotations(t.claimed())):
			state = ToolDenied
		case c.byName[t.sent.Name] != nil:
			state = ToolHidden
		default:
			c.tools = append(c.tools, t)
			c.byName[t.sent.Name], c.byID[t.id] = t, t
			c.tokens += t.tokens
			counted.Seen++
		}
		if state == ToolUnapproved {
			counted.State = StateUnapproved
		}
		counted.Tokens += t.tokens
		c.all = append(c.all, listedTool{t, state})
	}
	return counted
}

// only returns a copy of the catalogue with the tools for which keep returns true.
func (c *catalogue) only(keep func(*tool) bool) *catalogue {
	some := &catalogue{byName: map[string]*tool{}, byID: map[string]*tool{}, of: map[*server]int{}, off: c.off, all: c.all, skills: c.skills}
	for _, t := range c.tools {
		if keep(t) {
			some.tools = append(some.tools, t)
			some.byName[t.sent.Name], some.byID[t.id] = t, t
			some.tokens += t.tokens
			some.of[t.server]++
		}
	}
	some.servers = append(some.servers, c.servers...)
	for i := range some.servers {
		some.servers[i].Seen = 0
		for s, n := range some.of {
			if s.Name == some.servers[i].Server {
				some.servers[i].Seen = n
			}
		}
	}
	return some
}

// has reports whether the conversation may use the server's resources, prompts and instructions. It
// may not if the server is off, or if tools were chosen and none is the server's.
func (c *catalogue) has(s *server) bool { return !c.off[s.Name] && (c.of == nil || c.of[s] > 0) }

func (c *catalogue) find(ref ToolRef) *tool {
	if t := c.byID[ref.Server+separator+ref.Tool]; t != nil {
		return t
	}
	for _, t := range c.tools { // tools of a server behind a gateway
		if t.ref == ref {
			return t
		}
	}
	return nil
}

// standings returns the current state of each server in a catalogue.
func (h *Host) standings(c *catalogue) []ServerTools {
	all := make([]ServerTools, len(h.servers))
	for i, s := range h.servers {
		all[i] = c.servers[i]
		state, err := s.state()
		if err != nil {
			all[i].Error, all[i].Remedy = s.why(err), remedy(err)
		}
		if state != StateConnected || all[i].State == "" || all[i].Seen > 0 {
			all[i].State = state
		}
		all[i].Off, all[i].Trusted = c.off[s.Name], s.trusted()
	}
	return all
}

// deferred reports whether the model must search for tools because they are too many or need too
// many tokens.
func (h *Host) deferred(c *catalogue) bool {
	most := h.options.Model.Info().MaxTools
	if most > 0 && len(c.tools)+len(builtins()) > most {
		return true
	}
	return h.budget.Tools >= 0 && c.tokens > h.budget.Tools
}

func (h *Host) toolsOf(c *catalogue) []ToolInfo {
	deferred := h.deferred(c)
	all := make([]ToolInfo, len(c.all))
	for i, t := range c.all {
		all[i] = t.info(t.state)
		switch {
		case c.off[t.server.Name]:
			all[i].State = ToolOff
		case t.state == ToolSent && deferred && !h.budget.isAlwaysSent(t.server.Name):
			all[i].State = ToolSearched
		}
	}
	return all
}

// Servers returns the state of every server and the number of its tools that the model can use.
func (h *Host) Servers() []ServerTools { return h.standings(h.catalogue()) }

// Tools returns all tools, with their state for the model.
func (h *Host) Tools() []ToolInfo { return h.toolsOf(h.catalogue()) }

// instructions returns the instructions of the approved servers in a catalogue.
func (h *Host) instructions(c *catalogue) []string {
	var names, texts []string
	for _, s := range h.servers {
		text := s.current().instructions
		if text != "" && c.has(s) && h.approved(s, instructionsOf(s, text)) {
			names, texts = append(names, s.Name), append(texts, guard.Clean(text))
		}
	}
	most := min(excerpt.Level(texts, maxAllInstructions), maxInstructions)
	for i := range texts {
		texts[i] = "# " + names[i] + "\n" + excerpt.Clip(texts[i], most)
	}
	return texts
}

// Limits of the servers' instructions in the system prompt, in bytes.
const (
	maxInstructions    = 4 << 10  // bytes of one server's instructions
	maxAllInstructions = 16 << 10 // bytes of the instructions of all servers; the longest are cut first
)

// skillsText returns the part of the system prompt that lists the skills of a catalogue.
func (h *Host) skillsText(c *catalogue) string {
	var texts []string
	for _, s := range h.servers {
		if !c.has(s) {
			continue
		}
		for _, skill := range c.skills[s] {
			texts = append(texts, excerpt.Clip(excerpt.Clean(strings.Join(strings.Fields(fmt.Sprintf("- %s: %s %s", s.Name, skill.URI, skill.Description())), " ")), maxSkillText))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	most, size := excerpt.Level(texts, maxSkillsText), 0
	for i, text := range texts {
		texts[i] = excerpt.Clip(text, most)
		if size += len(texts[i]); size > maxSkillsText {
			texts = append(texts[:i], fmt.Sprintf("and %d more, which the user can name", len(texts)-i))
			break
		}
	}
	return skillsInPrompt + "\n" + strings.Join(texts, "\n")
}

// builtins returns the host's own tools, in the order in which the model sees them.
func builtins() []model.Tool {
	return []model.Tool{
		{
			Name:        searchName,
			Description: "Find tools among those of all servers and make them callable. One short query for each step of the task, in the words of what that step does, all in one call.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":8}},"required":["queries"]}`),
		},
		{
			Name:        readName,
			Description: "Read a resource of a server, or the next page of a result that was too long (junction://result/…).",
			Schema:      json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"},"server":{"type":"string","description":"whose resource it is; not needed for junction://"},"offset":{"type":"integer","minimum":0,"description":"character to begin at"},"find":{"type":"string","description":"begin near the next occurrence of this text"}},"required":["uri"]}`),
		},
	}
}

const (
	searchName = "search_tools"
	readName   = "read_resource"
)

const (
	maxSkillsText  = 6 << 10 // bytes about all skills in the system prompt
	maxSkillText   = 400     // bytes about one skill
	skillsInPrompt = "# Skills\nTexts of servers that explain how to do certain work; the user approved them. If a skill fits a task, read it with read_resource, from its server, before you begin. Follow it as far as it serves the user's request. It allows nothing that needs approval."
)
