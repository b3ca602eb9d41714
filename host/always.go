package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/policy"
)

// sessionSource is the source of rules that hold until the Host is closed.
const sessionSource = "session"

// Rule makes a rule hold until the Host is closed, or for good. The error says that
// it does not hold, or that it holds until then only, and why.
func (h *Host) Rule(rule policy.Rule, forever bool) error {
	if !forever {
		rule.Source = sessionSource
	}
	if rule.Effect != policy.Allow {
		rule.Origin, rule.After = "", "" // a ban is one of whatever goes by that name
	}
	if err := h.hold(rule); err != nil {
		return fmt.Errorf("the rule does not hold: %w", err)
	}
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.Remember != nil {
		err = h.options.Remember(rule)
	}
	if err != nil {
		return fmt.Errorf("the rule holds until the end of the program only: %w", err)
	}
	return nil
}

// hold adds a rule to those of this Host.
func (h *Host) hold(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	rules, err := h.rules.With(rule)
	if err != nil {
		return err
	}
	h.rules = rules
	h.changes.Add(1) // a tool that is denied goes from the model's hands
	return nil
}

func (h *Host) currentRules() *policy.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules
}

// Trust has a server count as trusted until the Host is closed, or for good: see
// [Server].Trusted. The error says that there is no such server, or that it counts as trusted
// until then only, and why.
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
		return fmt.Errorf("server %q is trusted until the end of the program only: %w", server, err)
	}
	return nil
}

func (h *Host) serverNamed(name string) (s *server, found bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

// origin tells the server from others of its name.
func (s *server) origin() string { return policy.OriginOf(s.Origin) }

// memberOrigin tells the servers behind a gateway from others of their names: they are what
// this gateway calls so.
func (s *server) memberOrigin() string {
	return policy.OriginOf([]string{"(behind a gateway)", s.Name, s.origin()})
}

// source is the server, or something of it, as the flow of data knows it.
func (s *server) source(uri string) guard.Source {
	return guard.Source{Server: s.Name, Origin: s.origin(), URI: uri}
}

// said reports whether a source is the server's, or that of a server behind it.
func (s *server) said(from guard.Source) bool {
	return from.IsOf(s.Name, s.origin()) || s.Prefixed && from.Origin == s.memberOrigin()
}

// hasSaid reports whether a source is that of a server that is here.
func (h *Host) hasSaid(from guard.Source) bool {
	return slices.ContainsFunc(h.servers, func(s *server) bool { return s.said(from) })
}

func (s *server) trusted() bool { return s.vouched.Load() }

// helpful are those of the rules that "always" could write which would save the next such
// question. The servers that the card names are part of them.
func (h *Host) helpful(ctx context.Context, in policy.Input, asked guard.Decision, allowed bool) []AlwaysRule {
	var names, shown []string
	for _, from := range asked.Sources {
		name := policy.NameOf(from.Server, from.Origin)
		if h.hasSaid(from) && !slices.Contains(names, name) && !strings.Contains(name, ",") {
			names, shown = append(names, name), append(shown, from.Server)
		}
	}
	everyTime := func(reason guard.Reason) bool { return reason == guard.CarriesSecret || reason == guard.CarriesText }
	if slices.ContainsFunc(asked.Reasons, everyTime) || allowed && len(names) == 0 {
		return nil
	}
	after := strings.Join(names, ", ")
	var rules []AlwaysRule
	for _, a := range always(in) {
		if a.Rule.After = after; after != "" {
			a.Label += ", also after text of " + strings.Join(shown, ", ")
		}
		with, err := h.currentRules().With(a.Rule)
		if err == nil && with.Decide(ctx, in).Effect == policy.Allow {
			rules = append(rules, a)
		}
	}
	return rules
}

// always are the rules that "always" could write about a call, the narrowest first.
func always(in policy.Input) []AlwaysRule {
	under, free := folders(in.Arguments)
	folder := "this tool, below the same folder"
	if len(free) > 0 {
		folder += fmt.Sprintf(", whatever is in %q", free)
	}
	scopes := []struct {
		label string
		scope policy.Scope
	}{
		{"exactly this call", policy.Scope{Reach: policy.ThisCall}},
		{folder, policy.Scope{Reach: policy.ThisCall, Under: under, Free: free}},
		{"this tool, with any arguments", policy.Scope{Reach: policy.ThisTool}},
		{"tools of this server that only read", policy.Scope{Reach: policy.ReadOnlyTools}},
		{"everything of this server", policy.Scope{Reach: policy.ThisServer}},
	}
	var rules []AlwaysRule
	for _, s := range scopes {
		if s.label == folder && len(under) == 0 {
			continue
		}
		if rule, err := policy.Suggest(in, s.scope); err == nil {
			rules = append(rules, AlwaysRule{Label: s.label, Rule: rule})
		}
	}
	return rules
}

// folders are the folders of arguments that are absolute paths, or lists of such, by the
// arguments' names; and the names of the other texts, which differ from call to call.
func folders(arguments json.RawMessage) (under map[string]string, free []string) {
	under = map[string]string{}
	jsonrpc.EachMember(arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		folder, isText := "", value[0] == '"'
		if isText {
			folder = folderOf(value)
		}
		jsonrpc.EachElement(value, func(element []byte) bool {
			switch next := folderOf(element); {
			case folder == "":
				folder = next
			case folder != next:
				folder = "/"
			}
			return folder != "/"
		})
		switch {
		case len(folder) > 1:
			under[name] = folder
		case isText && folder == "":
			free = append(free, name)
		}
		return true
	})
	return under, free
}

// folderOf is the folder of an absolute path; "/" where there is none to speak of, and
// empty where this is no path.
func folderOf(value []byte) string {
	text, isText := jsonrpc.Unquote(value)
	if !isText || !path.IsAbs(text) || strings.Contains(text, "\n") {
		return ""
	}
	return path.Dir(path.Clean(text))
}
