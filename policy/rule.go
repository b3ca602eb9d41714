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
	// Ask leaves the decision to the user, or to others (see [Rule.Of]). If they cannot be asked, it
	// means Deny.
	Ask Effect = "ask"
	// Deny refuses the call.
	Deny Effect = "deny"
)

// strictness returns the rank of an effect, which is higher for a stricter one. It returns -1 for
// any other text.
func (e Effect) strictness() int { return slices.Index([]Effect{Allow, Ask, Deny}, e) }

// Strictest returns the strictest of the effects: Deny before Ask before Allow. It returns "" if
// none of them is valid.
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
	// Name is the name of the rule in explanations. It need not be unique.
	Name string `json:"name,omitempty"`
	// Effect is the effect on calls that the rule matches.
	Effect Effect `json:"effect"`
	// Server and Tool are case-sensitive patterns of whole names: * matches any characters, ?
	// matches one, and \ escapes the next character. An empty pattern matches everything. A Tool of
	// * matches every call of a tool, but no other request.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Origin restricts the rule to servers with this origin, unless it is empty.
	Origin string `json:"origin,omitempty"`
	// When is a condition in CEL. The package comment lists its variables. An empty condition is
	// true.
	When string `json:"when,omitempty"`
	// After lists servers, separated by commas, in the form of [Named]. It is valid in a rule that
	// allows. When the user made the rule, the model had read text of these servers and the user
	// knew that. Their text is therefore no reason to ask again. See [Rule.Covers].
	After string `json:"after,omitempty"`
	// Redact lists the values to hide in matching calls; nil hides nothing. It is valid in a rule
	// that allows or asks, and it applies even if another rule decides.
	Redact *Redact `json:"redact,omitempty"`
	// Of names the role whose callers are asked, as role:NAME, in place of the user of the call's
	// client. It is valid in a rule that asks, as are the next three fields.
	Of string `json:"of,omitempty"`
	// Within is how long the call waits, such as 10m, which is the default.
	Within string `json:"within,omitempty"`
	// For is the longest time for which an approval can allow the same call of the same caller again,
	// such as 1h. By default it allows the call once.
	For string `json:"for,omitempty"`
	// Self lets callers approve their own calls.
	Self bool `json:"self,omitempty"`
	// Reason is shown to the user if the rule decided.
	Reason string `json:"reason,omitempty"`
	// Source is the place of the rule, such as policy.json:12 or session. [Load] sets it, and
	// [Append] does not write it.
	Source string `json:"source,omitempty"`
}

// String returns the rule as explanations show it: its name, or else its effect and subject, and
// its source.
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
	if r.Of != "" {
		words += " by " + r.Of
	}
	if r.When != "" {
		words += " when " + r.When
	}
	if r.After != "" {
		words += ", also after text from " + r.After
	}
	if r.Redact != nil {
		words += ", hiding " + r.Redact.String()
	}
	return words
}

// IsFor reports whether the rule is only for the server with the given name.
func (r *Rule) IsFor(server string) bool {
	p := parsePattern(r.Server)
	return p.kind == exactly && p.text == server
}

// MatchesServer reports whether the rule's pattern of servers matches a name.
func (r *Rule) MatchesServer(name string) bool { return parsePattern(r.Server).matches(name) }

// MatchesTool reports whether the rule's pattern of tools matches a name.
func (r *Rule) MatchesTool(name string) bool { return parsePattern(r.Tool).matches(name) }

// Covers reports whether After includes a server.
func (r *Rule) Covers(server, origin string) bool {
	return Named(strings.Split(r.After, ","), server, origin)
}

// Named reports whether names include a server. NAME includes the server with any origin, and
// NAME@ORIGIN, the form of [NameOf], only with that origin. Text after the last @ is always an
// origin, so no name of a server can equal another server's name with its origin. A server with an
// @ in its name, except as the first character, must be listed with its origin.
func Named(names []string, server, origin string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		name = strings.TrimSpace(name)
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			return origin != "" && name[:at] == server && name[at+1:] == origin
		}
		return name != "" && name == server
	})
}

// NameOf returns a name that distinguishes a server from others with the same name. If origin is
// empty, it returns the server's name alone. If that name contains an @, the result matches no
// server.
func NameOf(server, origin string) string {
	if origin == "" && strings.LastIndexByte(server, '@') <= 0 {
		return server
	}
	return server + "@" + origin
}

// OriginOf returns the Origin of a server for its command line or URL. It returns "built-in" if
// both are missing, because the server is part of the program.
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

// Vouches reports whether the user's list of names includes a server with this command line or URL.
// A name without an origin counts only if own is set, for a server of the user's own configuration.
// A project's file or a command line could use the name of another server.
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

// compiled is a rule with its compiled patterns and condition. It is immutable.
type compiled struct {
	rule   *Rule
	name   string // [Rule.String] of rule
	reason string // reason of a decision by rule
	server pattern
	tool   pattern
	when   *condition // nil for a rule without a condition
}

// order returns the strictness of the rule, or -1 for the built-in rule.
func (c *compiled) order() int {
	if c.rule.Source == builtinSource {
		return -1
	}
	return c.rule.Effect.strictness()
}

// byStrictness sorts rules, strictest first. The other comparisons only make the order independent
// of the order of input, and thus also the explanations.
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
		strings.Compare(a.rule.Of, b.rule.Of),
	)
}
