package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/policy"
)

// identity returns the definitions that identify a server apart from its features: the command or
// address that reaches it, and the name and version that it reports.
func (s *server) identity(o offer) []guard.Definition {
	var all []guard.Definition
	if len(s.Origin) > 0 {
		all = append(all, guard.Definition{Kind: guard.Command, Server: s.Name, Text: strings.Join(s.Origin, " ")})
	}
	version := guard.Definition{Kind: guard.Version, Server: s.Name, Text: "(the server does not name itself)"}
	if o.info != nil {
		version.Title, version.Text = o.info.Title, strings.TrimSpace(o.info.Name+" "+o.info.Version)
	}
	return append(all, version)
}

// accepted reports whether a server may be used at all. A server with another command or another
// version counts as another server, even if its tools are the same.
func (h *Host) accepted(s *server) bool {
	return s.trusted() || !slices.ContainsFunc(s.identity(s.current()), func(d guard.Definition) bool { return !s.pinned(d) })
}

// pinned reports whether a definition of the server was approved or needs no approval.
func (s *server) pinned(d guard.Definition) bool {
	d.Origin = cmp.Or(d.Origin, s.origin())
	return s.trusted() || s.host.pins.Check(d).State == guard.Same
}

// notAccepted returns the text of an error about a server that is not approved yet.
func (s *server) notAccepted() string {
	return fmt.Sprintf("server %q is not approved, or has changed since its approval; the user must approve it first", s.Name)
}

// withdrawn returns the reason why a call must not be made although the user allowed it, or "". The
// reason is that the server's tool is not the one that the user approved.
func (t *tool) withdrawn(ctx context.Context) string {
	s := t.server
	if s.trusted() {
		return ""
	}
	s.host.await(ctx, s)
	for _, now := range s.current().tools {
		if now.Name != t.Name {
			continue
		}
		if now != t && now.definition.Hash() != t.definition.Hash() || !s.host.approved(s, now.definition) {
			return fmt.Sprintf("%s was not called: server %q changed its definition, and the user must approve it first.", t.sent.Name, s.Name)
		}
		return ""
	}
	if _, err := s.state(); err != nil {
		return fmt.Sprintf("%s was not called: server %q does not answer: %s", t.sent.Name, s.Name, s.why(err))
	}
	return fmt.Sprintf("%s was not called: server %q no longer has it.", t.sent.Name, s.Name)
}

// approved reports whether the model may see a definition.
func (h *Host) approved(s *server, d guard.Definition) bool { return h.accepted(s) && s.pinned(d) }

func instructionsOf(s *server, text string) guard.Definition {
	return guard.Definition{Kind: guard.Instructions, Server: s.Name, Text: text}
}

// definitions returns all definitions of the server that are subject to approval.
func (s *server) definitions() []guard.Definition {
	offer := s.current()
	all := s.identity(offer)
	if offer.instructions != "" {
		all = append(all, instructionsOf(s, offer.instructions))
	}
	for _, t := range offer.tools {
		all = append(all, t.definition)
	}
	for _, p := range offer.prompts {
		all = append(all, review.Prompt(s.Name, p))
	}
	for _, v := range offer.views {
		all = append(all, v.definition)
	}
	for _, skill := range offer.skills {
		all = append(all, definitionOfSkill(s.Name, skill))
	}
	return all
}

// item returns one definition in the form that a user reviews.
func (h *Host) item(d guard.Definition, verdict guard.Verdict) ReviewItem {
	item := ReviewItem{Kind: string(d.Kind), Name: d.Name, Changed: verdict.State == guard.Changed, Findings: h.suspicions(d)}
	if hint := readHint(d); hint != nil {
		item.Reads = *hint
	} else {
		item.Silent = true
	}
	if d.Kind == guard.Command || d.Kind == guard.Version {
		item.Value = guard.Visible(d.Text)
	}
	if item.Changed {
		item.Text = guard.Diff(verdict.Old, d)
	} else {
		item.Text = whole(d)
	}
	return item
}

// whole returns all of a definition as text: a line for each field, or several indented lines.
func whole(d guard.Definition) string {
	var b strings.Builder
	for _, c := range guard.Changes(guard.Definition{Kind: d.Kind, Server: d.Server, Name: d.Name}, d) {
		text := " " + strings.TrimRight(c.New, "\n")
		if strings.Contains(text, "\n") {
			text = "\n  " + strings.ReplaceAll(text[1:], "\n", "\n  ")
		}
		b.WriteString(c.Field + ":" + text + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// suspicions returns the findings that a user must see before approving a definition.
func (h *Host) suspicions(d guard.Definition) []guard.Finding {
	texts := h.texts()
	findings := texts.ScanDefinition(d)
	if d.Kind == guard.Tool {
		findings = append(findings, texts.LookAlikes(d.Server, d.Name)...)
	}
	if s, found := h.serverNamed(d.Server); found && d.Kind == guard.View {
		for _, v := range s.current().views {
			if v.definition.Name == d.Name {
				return append(findings, v.findings...)
			}
		}
	}
	return findings
}

// texts returns a catalogue of all servers' tools, with which the guard finds references from one
// server to another. It contains each tool's own name and the name that the model uses.
func (h *Host) texts() *guard.Catalogue {
	return h.guarded.get(h.changes.Load(), func() *guard.Catalogue {
		var c guard.Catalogue
		for _, s := range h.servers {
			var tools []string
			for _, t := range s.current().tools {
				tools = append(tools, t.Name, t.sent.Name)
			}
			c.Set(s.Name, tools...)
		}
		return &c
	})
}

// readHint returns the read-only annotation of a tool's definition, or nil if the annotation is
// missing. For tools that are declared destructive, for other kinds and for invalid annotations it
// returns false.
func readHint(d guard.Definition) *bool {
	var a mcp.ToolAnnotations
	if d.Kind != guard.Tool || len(d.Annotations) > 0 && json.Unmarshal(d.Annotations, &a) != nil {
		return new(false)
	}
	if a.ReadOnlyHint == nil && a.DestructiveHint != nil && *a.DestructiveHint {
		return new(false)
	}
	return a.ReadOnlyHint
}

// approve pins definitions. reading lists those of them that the user declares to be read-only.
func (h *Host) approve(s *server, definitions, reading []guard.Definition) error {
	err := h.pins.Approve(definitions...)
	for _, d := range reading {
		named := func(t *tool) bool { return t.Name == d.Name }
		if i := slices.IndexFunc(s.current().tools, named); i >= 0 && err == nil {
			err = h.pins.ApproveReading(s.current().tools[i].origin(), d)
		}
	}
	if err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	h.changes.Add(1)
	if h.options.Pins == nil {
		return nil
	}
	if err := h.pins.Save(); err != nil {
		h.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("the approval of server %q is valid only until the program ends: %v", s.Name, err)})
	}
	return nil
}

func (h *Host) wasRefused(server, hashes string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[server] == hashes
}

func (h *Host) refuse(server, hashes string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused[server] = hashes
}

// reading returns the annotations assumed for resources and prompts, which have none of their own.
// Their text comes from the outside world, and the address of a resource leaves for it. Text of the
// program's own servers stays inside.
func (s *server) reading() mcp.ToolAnnotations {
	claim := mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	if isOwn(s.Name) {
		claim.OpenWorldHint = new(false)
	}
	return claim
}

// Trust makes a server trusted until the Host is closed, or permanently: see [Server].Trusted. The
// error reports that the server does not exist, or why the trust ends when the Host is closed.
func (h *Host) Trust(server string, forever bool) error {
	s, found := h.serverNamed(server)
	if !found {
		return noServer(server)
	}
	s.vouched.Store(true)
	h.changes.Add(1)
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.RememberTrust != nil {
		err = h.options.RememberTrust(policy.NameOf(server, s.origin()))
	}
	if err != nil {
		return fmt.Errorf("server %q is trusted only until the program ends: %w", server, err)
	}
	return nil
}

func (h *Host) currentRules() *policy.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules
}

// Rule adds a rule until the Host is closed, or permanently. The error reports that the rule was
// not added, or why it ends when the Host is closed.
func (h *Host) Rule(rule policy.Rule, forever bool) error {
	if !forever {
		rule.Source = sessionSource
	}
	if rule.Effect != policy.Allow {
		rule.Origin, rule.After = "", "" // a ban covers every server with that name
	}
	h.mu.Lock()
	rules, err := h.rules.With(rule)
	if err == nil {
		h.rules = rules
		h.changes.Add(1) // a denied tool is removed from the model's list
	}
	h.mu.Unlock()
	if err != nil {
		return fmt.Errorf("the rule is not in effect: %w", err)
	}
	if !forever {
		return nil
	}
	err = errors.New("there is no place to keep it")
	if h.options.Remember != nil {
		err = h.options.Remember(rule)
	}
	if err != nil {
		return fmt.Errorf("the rule is in effect only until the program ends: %w", err)
	}
	return nil
}

// Rules returns the current rules, including those of the session. The strictest come first, and
// the default comes last.
func (h *Host) Rules() []policy.Rule { return h.currentRules().Rules() }

// RemoveRule removes one of [Host.Rules] until the Host is closed. A copy that [Options].Remember
// stored remains. The error reports that the rule does not exist.
func (h *Host) RemoveRule(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	fewer, had := h.rules.Without(rule)
	if !had {
		return fmt.Errorf("the rule %s no longer exists", &rule)
	}
	h.rules = fewer
	h.changes.Add(1)
	return nil
}

// Disapprove forgets all approvals of a server, so that the user must review its definitions before
// the model sees them again. The error reports why this ends when the Host is closed.
func (h *Host) Disapprove(server string) error {
	h.pins.Forget(server)
	h.refuse(server, "")
	h.changes.Add(1)
	if h.options.Pins == nil {
		return nil
	}
	if err := h.pins.Save(); err != nil {
		return fmt.Errorf("the definitions of server %q need approval again when the program starts: %w", server, err)
	}
	return nil
}

// sessionSource is the source of rules that hold until the Host is closed.
const sessionSource = "session"

// questionSource is the source of rules that hold until a question is answered.
const questionSource = "question"

// definitionOfSkill returns the definition of a skill for approval: its description, and its files
// with their digests.
func definitionOfSkill(server string, skill *skills.Skill) guard.Definition {
	var files strings.Builder
	for _, f := range skill.Files {
		fmt.Fprintf(&files, "%s %d bytes %s\n", strings.TrimPrefix(f.URI, skill.Root()+"/"), f.Size, f.Digest)
	}
	return guard.Definition{Kind: guard.Skill, Server: server, Name: skill.URI, Title: skill.Name(), Description: skill.Description(), Schema: skill.Frontmatter, Text: files.String()}
}
