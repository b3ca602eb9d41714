package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxToolName     = 64 // characters that every provider takes
	maxArgumentName = 64
)

// nameAll names the tools of operations. A name is that of the operationId, or else of method and path, with '_' for what
// cannot stand in one. Where it is too long, or several would have it, each of those gets a hash of its method and path, so
// that no name depends on which other operations there are before it.
func nameAll(all []*operation) {
	count := map[string]int{}
	for _, o := range all {
		o.name = o.id
		if o.name == "" {
			o.name = strings.ToLower(o.method) + "_" + strings.Trim(strings.NewReplacer("{", "", "}", "").Replace(o.path), "/")
		}
		o.name = fit(o.name, false)
		count[o.name]++
	}
	taken := map[string]bool{}
	for _, o := range all {
		if count[o.name] > 1 || len(o.name) > maxToolName {
			plain, key := o.name, o.method+" "+o.path
			for length := 8; ; length += 8 {
				if o.name = hashed(plain, key, length, maxToolName); count[o.name] == 0 && !taken[o.name] {
					break
				}
			}
		}
		taken[o.name] = true
	}
}

// hashed ends a name in so many digits of a hash.
func hashed(name, key string, length, most int) string {
	sum := sha256.Sum256([]byte(key))
	digits := hex.EncodeToString(sum[:])[:min(length, 2*len(sum))]
	return name[:min(len(name), most-len(digits)-1)] + "_" + digits
}

// fit replaces what cannot stand in a name, and begins it with a letter or '_'.
func fit(name string, dots bool) string {
	var out strings.Builder
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && dots:
			out.WriteByte(c)
		default:
			if text := out.String(); text == "" || text[len(text)-1] != '_' {
				out.WriteByte('_')
			}
		}
	}
	text := out.String()
	if trimmed := strings.TrimRight(text, "_"); trimmed != "" && !strings.HasSuffix(name, "_") {
		text = trimmed
	}
	if text == "" || text[0] == '-' || text[0] == '.' || '0' <= text[0] && text[0] <= '9' {
		text = "_" + text
	}
	return text
}

// nameArguments names the arguments of an operation. Path, query, header and cookie come in this order; the first of a name
// has it, the others begin with where they are, as query_id, and if that is taken end in a hash. "body" is the body's.
func nameArguments(all []*parameter, body bool) {
	taken := map[string]bool{"body": body}
	for _, in := range []string{"path", "query", "header", "cookie"} {
		for _, p := range all {
			if p.in != in {
				continue
			}
			name := fit(p.name, true)
			if taken[name] {
				name = in + "_" + name
			}
			if taken[name] || len(name) > maxArgumentName {
				for length := 8; ; length += 8 {
					if longer := hashed(name, in+" "+p.name, length, maxArgumentName); !taken[longer] {
						name = longer
						break
					}
				}
			}
			p.argument, taken[name] = name, true
		}
	}
}
