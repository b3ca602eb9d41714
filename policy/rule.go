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

// Effect is what becomes of a call.
type Effect string

const (
	// Allow lets the call run.
	Allow Effect = "allow"
	// Ask leaves it to the person. Where nobody can be asked, it means Deny.
	Ask Effect = "ask"
	// Deny refuses the call.
	Deny Effect = "deny"
)

// strictness orders effects; that of any other text is -1.
func (e Effect) strictness() int { return slices.Index([]Effect{Allow, Ask, Deny}, e) }

// Strictest is the strictest of some effects: Deny before Ask before Allow. It is
// empty if none of them is one of the three.
func Strictest(effects ...Effect) Effect {
	var strictest Effect
	for _, e := range effects {
		if e.strictness() > strictest.strictness() {
			strictest = e
		}
	}
	return strictest
}

// Rule is one rule, as people write it. Its zero patterns and condition match every
// call; Effect alone is required.
type Rule struct {
	// Name is what explanations call the rule; it need not be unique.
	Name string `json:"name,omitempty"`
	// Effect is what becomes of calls that the rule matches.
	Effect Effect `json:"effect"`
	// Server and Tool are patterns of whole names, case-sensitive: * stands for any
	// characters, ? for one, and \ takes the meaning from the character behind it.
	// Empty matches everything; of Tool, * matches every call of a tool, but no
	// other request.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Origin, if not empty, is that of the server: the rule is for no other one of its name.
	Origin string `json:"origin,omitempty"`
	// When is a condition in CEL, of which the package comment lists the variables;
	// empty is true.
	When string `json:"when,omitempty"`
	// After, of a rule that allows, are servers whose text the person knew to have been read
	// when they made the rule, as [Named] has them, separated by commas: that it was read is
	// no reason to ask again. See [Rule.Covers].
	After string `json:"after,omitempty"`
	// Redact, of a rule that allows or asks, is what is hidden of the calls that it matches; nil for nothing. It counts
	// whichever rule decides.
	Redact *Redact `json:"redact,omitempty"`
	// Reason is shown where the rule decided.
	Reason string `json:"reason,omitempty"`
	// Source is where the rule stands, such as policy.json:12 or session. [Load] sets
	// it, and [Append] does not write it.
	Source string `json:"source,omitempty"`
}

// String is what an explanation calls the rule: its name, or else what it is about,
// and where it stands.
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

// IsFor reports whether the rule is made for one server, and this is its name.
func (r *Rule) IsFor(server string) bool {
	p := parsePattern(r.Server)
	return p.kind == exactly && p.text == server
}

// MatchesServer reports whether the rule's pattern of servers matches a name.
func (r *Rule) MatchesServer(name string) bool { return parsePattern(r.Server).matches(name) }

// MatchesTool reports whether the rule's pattern of tools matches a name.
func (r *Rule) MatchesTool(name string) bool { return parsePattern(r.Tool).matches(name) }

// Covers reports whether a server is one of those in After.
func (r *Rule) Covers(server, origin string) bool {
	return Named(strings.Split(r.After, ","), server, origin)
}

// Named reports whether names have a server: as NAME, whatever its origin is, or as
// NAME@ORIGIN, which is what [NameOf] writes. What follows the last @ is always an origin, so
// that no server can be called like another one with its origin: one that has an @ in its
// name, but for the first character, can only be named with its origin.
func Named(names []string, server, origin string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		name = strings.TrimSpace(name)
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			return origin != "" && name[:at] == server && name[at+1:] == origin
		}
		return name != "" && name == server
	})
}

// NameOf names a server so that no other one of its name is meant. Where its origin is not
// known that is its name, or, if that has an @, what means no server.
func NameOf(server, origin string) string {
	if origin == "" && strings.LastIndexByte(server, '@') <= 0 {
		return server
	}
	return server + "@" + origin
}

// OriginOf is the Origin of a server that is started by this command line, or reached at
// this URL. Of one that has neither, since it is part of the program, it is "built-in".
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

// Vouches reports whether the user's names of servers include a server, which the command line or URL starts. The name alone
// counts for the user's own configuration: one that a project's file or a bare command line gives may be that of another server.
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

// compiled is a rule that is ready to be asked. It never changes.
type compiled struct {
	rule   *Rule
	name   string // [Rule.String] of it
	reason string // of a decision by it
	server pattern
	tool   pattern
	when   *condition // nil: no condition
}

// order is the strictness of the rule; what is built in comes last.
func (c *compiled) order() int {
	if c.rule.Source == builtinSource {
		return -1
	}
	return c.rule.Effect.strictness()
}

// byStrictness orders rules so that the strictest come first. What follows the effect only
// makes the order, and so the explanation, independent of how the rules were given.
func byStrictness(a, b *compiled) int {
	return cmp.Or(
		cmp.Compare(b.order(), a.order()),
		cmp.Compare(min(len(b.rule.Name), 1), min(len(a.rule.Name), 1)), // a name says more than none
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
