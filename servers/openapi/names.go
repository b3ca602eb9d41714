package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxToolName     = 64 // maximum length that every provider accepts
	maxArgumentName = 64
)

// nameAll names the tools of operations. A name is the operationId or, without one, the method and
// path, with '_' for invalid characters. A name that is too long, or that several operations share,
// gets a hash of the method and path. So a name does not depend on the order of operations.
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

// hashed appends length digits of a hash of key to a name. The result has at most most bytes.
func hashed(name, key string, length, most int) string {
	sum := sha256.Sum256([]byte(key))
	digits := hex.EncodeToString(sum[:])[:min(length, 2*len(sum))]
	return name[:min(len(name), most-len(digits)-1)] + "_" + digits
}

// fit replaces invalid characters in a name, and makes the name begin with a letter or '_'.
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

// nameArguments names the arguments of an operation, in the order path, query, header, cookie. The
// first parameter with a name keeps the name. Others get their place as a prefix, such as query_id,
// and also a hash if that is taken. The name "body" is reserved for the body.
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
