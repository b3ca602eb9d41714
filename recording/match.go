package recording

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// The parts of parameters that may vary. A recorded part matches another part of the same kind.
var (
	uuids  = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	times  = regexp.MustCompile(`^20\d\d-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:Z|[+-][0-2]\d:?[0-5]\d)?)?`)
	hexes  = regexp.MustCompile(`^[0-9a-f]{16,64}`)
	ulids  = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}`)
	secret = regexp.MustCompile(`^\{\{secret-\d+\}\}`)
)

// kinds lists the kinds in the order of the attempts to match them.
var kinds = [...]*regexp.Regexp{secret, uuids, times, ulids, hexes}

// A pair is a recorded text and the text that a client sent in its place.
type pair struct{ recorded, given string }

// A comparison compares the parameters of a request with recorded ones.
type comparison struct {
	templates bool   // whether ids, times and secrets may differ
	pairs     []pair // texts that differ
}

// params reports whether the parameters match, and sets c.pairs to their differences. It ignores
// parts that vary with every request.
func (c *comparison) params(recorded, given json.RawMessage) bool {
	return c.members(recorded, given, func(name string) bool {
		return name == "_meta" || name == "inputResponses" || name == "requestState"
	})
}

func (c *comparison) value(recorded, given []byte) bool {
	switch {
	case len(recorded) == 0 || len(given) == 0:
		return len(recorded) == len(given)
	case recorded[0] == '{' && given[0] == '{':
		return c.members(recorded, given, func(string) bool { return false })
	case recorded[0] == '[' && given[0] == '[':
		var others [][]byte
		jsonrpc.EachElement(given, func(value []byte) bool { others = append(others, value); return true })
		n, same := 0, true
		jsonrpc.EachElement(recorded, func(value []byte) bool {
			same = n < len(others) && c.value(value, others[n])
			n++
			return same
		})
		return same && n == len(others)
	case recorded[0] == '"' && given[0] == '"':
		was, _ := jsonrpc.Unquote(recorded)
		is, _ := jsonrpc.Unquote(given)
		return was == is || c.templates && c.text(was, is)
	case isNumber(recorded) && isNumber(given):
		return jsonrpc.Decimal(string(recorded)) == jsonrpc.Decimal(string(given)) || c.templates && isTime(recorded) && isTime(given)
	case c.templates && recorded[0] == '"' && isNumber(given): // the recorded number was replaced as a secret
		was, _ := jsonrpc.Unquote(recorded)
		return secret.FindString(was) == was && was != ""
	}
	return string(recorded) == string(given)
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// isTime reports whether a number can be a time between 2017 and 2049 in seconds, milliseconds,
// microseconds or nanoseconds.
func isTime(raw []byte) bool {
	const first, last = 1_500_000_000, 2_500_000_000 // 2017 to 2049
	f, err := strconv.ParseFloat(string(raw), 64)
	for ; err == nil && f >= first; f /= 1000 {
		if f < last {
			return true
		}
	}
	return false
}

// members compares the members of two objects in any order. It ignores members whose names skip
// accepts.
func (c *comparison) members(recorded, given []byte, skip func(name string) bool) bool {
	has := map[string][]byte{}
	each(given, func(name string, value []byte) bool {
		if !skip(name) {
			has[name] = value
		}
		return true
	})
	same := each(recorded, func(name string, value []byte) bool {
		if skip(name) {
			return true
		}
		other, there := has[name]
		delete(has, name)
		return there && c.value(value, other)
	})
	return same && len(has) == 0
}

// each calls f for the members of an object until f returns false. It reports whether f returned
// true for all of them.
func each(obj []byte, f func(name string, value []byte) bool) bool {
	all := true
	jsonrpc.EachMember(obj, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		all = f(name, value)
		return all
	})
	return all
}

// text compares strings that may differ in ids, times and secrets.
func (c *comparison) text(recorded, given string) bool {
	const longest = 64 << 10 // largest size in bytes of a string that is compared in this way
	if len(recorded) > longest || len(given) > longest {
		return false
	}
	for recorded != "" {
		kind, part := variable(recorded)
		if kind == nil {
			if given == "" || given[0] != recorded[0] {
				return false
			}
			recorded, given = recorded[1:], given[1:]
			continue
		}
		recorded = recorded[len(part):]
		var is string
		if kind == secret {
			is = given[:len(given)-len(behind(recorded, given))]
		} else if is = kind.FindString(given); is == "" || kind == hexes && len(is) != len(part) {
			return false
		}
		if is != part {
			c.pairs = append(c.pairs, pair{part, is})
		}
		given = given[len(is):]
	}
	return given == ""
}

// variable returns the varying part at the beginning of a text, with the pattern of its kind. kind
// is nil if there is none.
func variable(text string) (kind *regexp.Regexp, part string) {
	if c := text[0]; c != '{' && (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
		return nil, ""
	}
	for _, kind := range kinds {
		if part := kind.FindString(text); part != "" && !(kind == hexes && !strings.ContainsAny(part, "0123456789")) {
			return kind, part
		}
	}
	return nil, ""
}

// behind returns the part of given that follows a secret at its beginning. rest is the recorded
// text after the secret. The secret in given ends where rest continues.
func behind(rest, given string) string {
	until := rest
	for i := range rest {
		if kind, _ := variable(rest[i:]); kind != nil {
			until = rest[:i]
			break
		}
	}
	if until == "" {
		return ""
	}
	if rest == until { // rest has no other varying part
		if strings.HasSuffix(given, until) {
			return until
		}
		return given
	}
	if at := strings.Index(given, until); at >= 0 {
		return given[at:]
	}
	return given
}

// A substitution replaces recorded texts by the texts that a client sent in their place.
type substitution struct{ replacer *strings.Replacer }

func substitute(pairs []pair) substitution {
	if len(pairs) == 0 {
		return substitution{}
	}
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.recorded) - len(a.recorded) })
	var all []string
	for _, p := range pairs {
		all = append(all, p.recorded, p.given)
	}
	return substitution{strings.NewReplacer(all...)}
}

// json replaces texts inside the strings of valid JSON and keeps all other bytes.
func (s substitution) json(data json.RawMessage) json.RawMessage {
	if s.replacer == nil || len(data) == 0 {
		return data
	}
	var out []byte
	done := 0
	for i := 0; i < len(data); {
		if data[i] != '"' {
			i++
			continue
		}
		end, _ := jsonrpc.SkipValue(data, i)
		was, _ := jsonrpc.Unquote(data[i:end])
		if is := s.replacer.Replace(was); is != was {
			out = jsonrpc.AppendString(append(out, data[done:i]...), is)
			done = end
		}
		i = end
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}
