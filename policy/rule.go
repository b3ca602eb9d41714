package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Effect is the effect of a rule on a call.
type Effect string

const (
	// Allow lets the call run.
	Allow Effect = "allow"
	// Ask leaves the decision to the user. If there is no user to ask, it means Deny.
	Ask Effect = "ask"
	// Deny refuses the call.
	Deny Effect = "deny"
)

// strictness orders effects; that of any other text is -1.
func (e Effect) strictness() int { return slices.Index([]Effect{Allow, Ask, Deny}, e) }

// Strictest returns the strictest of some effects: Deny before Ask before Allow. It is empty if
// none of them is one of the three.
func Strictest(effects ...Effect) Effect {
	var strictest Effect
	for _, e := range effects {
		if e.strictness() > strictest.strictness() {
			strictest = e
		}
	}
	return strictest
}

// Rule is one rule in the form that users write. Empty patterns and conditions match every call.
// Only Effect is required.
type Rule struct {
	// Name is the name of the rule in explanations; it need not be unique.
	Name string `json:"name,omitempty"`
	// Effect is the effect on calls that the rule matches.
	Effect Effect `json:"effect"`
	// Server and Tool are patterns of whole names, case-sensitive: * matches any characters, ?
	// matches one, and \ escapes the next character. Empty matches everything. As Tool, * matches
	// every call of a tool, but no other request.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Origin, if not empty, restricts the rule to the server of this origin.
	Origin string `json:"origin,omitempty"`
	// When is a condition in CEL, with the variables that the package comment lists; empty is true.
	When string `json:"when,omitempty"`
	// After, in a rule that allows, lists servers, as in [Named], separated by commas. The user
	// knew that their text had been read when the rule was made, so it is not a reason to ask
	// again. See [Rule.Covers].
	After string `json:"after,omitempty"`
	// Redact, in a rule that allows or asks, lists the hidden parts of matching calls; nil hides
	// nothing. It applies even if another rule decides.
	Redact *Redact `json:"redact,omitempty"`
	// Reason is shown if the rule decided.
	Reason string `json:"reason,omitempty"`
	// Source is the place of the rule, such as policy.json:12 or session. [Load] sets it, and
	// [Append] does not write it.
	Source string `json:"source,omitempty"`
}

// String returns the rule's form in explanations: its name, or else its effect and subject, and its
// source.
func (r *Rule) String() string {
	var b strings.Builder
	if r.Name != "" {
		b.WriteString(strconv.Quote(r.Name))
	} else {
		b.WriteString(string(r.Effect) + " " + r.subject())
	}
	if r.Source != "" {
		b.WriteString(" (" + r.Source + ")")
	}
	return b.String()
}

func (r *Rule) subject() string {
	words := "everything"
	switch {
	case r.Tool != "" && r.Server != "":
		words = "tool " + strconv.Quote(r.Tool) + " of server " + strconv.Quote(r.Server)
	case r.Tool != "":
		words = "tool " + strconv.Quote(r.Tool) + " of any server"
	case r.Server != "":
		words = "server " + strconv.Quote(r.Server)
	}
	if r.Origin != "" {
		words += " of this origin"
	}
	if r.When != "" {
		words += " when " + r.When
	}
	if r.After != "" {
		words += ", also after text of " + r.After
	}
	if r.Redact != nil {
		words += ", hiding " + r.Redact.String()
	}
	return words
}

// IsFor reports whether the rule is for one server only, and this is its name.
func (r *Rule) IsFor(server string) bool {
	p := parsePattern(r.Server)
	return p.kind == exactly && p.text == server
}

// MatchesServer reports whether the rule's pattern of servers matches a name.
func (r *Rule) MatchesServer(name string) bool { return parsePattern(r.Server).matches(name) }

// MatchesTool reports whether the rule's pattern of tools matches a name.
func (r *Rule) MatchesTool(name string) bool { return parsePattern(r.Tool).matches(name) }

// Covers reports whether After has a server.
func (r *Rule) Covers(server, origin string) bool {
	return Named(strings.Split(r.After, ","), server, origin)
}

// Named reports whether names contain a server: as NAME, with any origin, or as NAME@ORIGIN, the
// form of [NameOf]. The part after the last @ is always an origin. So the name of a server cannot
// equal that of another one with its origin. A server with an @ in its name, other than as the
// first character, can only be named with its origin.
func Named(names []string, server, origin string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		name = strings.TrimSpace(name)
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			return origin != "" && name[:at] == server && name[at+1:] == origin
		}
		return name != "" && name == server
	})
}

// NameOf returns a name of a server that means no other one of its name. If its origin is not
// known, it returns the name alone, or, if that has an @, a name that means no server.
func NameOf(server, origin string) string {
	if origin == "" && strings.LastIndexByte(server, '@') <= 0 {
		return server
	}
	return server + "@" + origin
}

// OriginOf returns the Origin of a server that is started by this command line, or reached at this
// URL. For a server that is part of the program, without either, it is "built-in".
func OriginOf(origin []string) string {
	if len(origin) == 0 {
		return builtinSource
	}
	hash := sha256.New()
	for _, word := range origin {
		fmt.Fprintf(hash, "%d %s", len(word), word)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// Vouches reports whether the user's names of servers include a server with this command line or
// URL. The name alone counts only for the user's own configuration: a project's file or a bare
// command line may use the name of another server.
func Vouches(names []string, server string, command []string, own bool) bool {
	if len(names) == 0 {
		return false
	}
	origin := OriginOf(command)
	if own {
		return Named(names, server, origin)
	}
	var bound []string
	for _, name := range names {
		if strings.TrimSpace(name) != server {
			bound = append(bound, name)
		}
	}
	return Named(bound, server, origin)
}

// compiled is a rule that is ready for decisions. It never changes.
type compiled struct {
	rule   *Rule
	name   string // is [Rule.String] of it
	reason string // of a decision by it
	server pattern
	tool   pattern
	when   *condition // is nil without a condition
}

// order returns the strictness of the rule; built-in rules come last.
func (c *compiled) order() int {
	if c.rule.Source == builtinSource {
		return -1
	}
	return c.rule.Effect.strictness()
}

// byStrictness orders rules so that the strictest come first. The comparisons after the effect only
// make the order, and so the explanation, independent of the order in which rules were given.
func byStrictness(a, b *compiled) int {
	return cmp.Or(
		cmp.Compare(b.order(), a.order()),
		cmp.Compare(min(len(b.rule.Name), 1), min(len(a.rule.Name), 1)), // a rule with a name explains more
		strings.Compare(a.rule.Name, b.rule.Name),
		strings.Compare(a.rule.Server, b.rule.Server),
		strings.Compare(a.rule.Tool, b.rule.Tool),
		strings.Compare(a.rule.When, b.rule.When),
		strings.Compare(a.rule.Source, b.rule.Source),
		strings.Compare(a.rule.Reason, b.rule.Reason),
		strings.Compare(a.rule.After, b.rule.After),
		strings.Compare(a.rule.Origin, b.rule.Origin),
	)
}
