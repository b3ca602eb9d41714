package revision

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An Answer is what stands around the own members of a result.
type Answer struct {
	Type  string          // resultType; empty means complete
	Meta  json.RawMessage // _meta, or nil
	TTL   int64           // milliseconds, for cacheable methods
	Scope string          // cacheScope; empty means private
}

// Cacheable reports whether results of the method carry caching hints
// (server/utilities/caching).
func Cacheable(method string) bool {
	switch method {
	case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
		return true
	}
	return false
}

// Askable reports whether the method may be answered with input_required
// (basic/patterns/mrtr).
func Askable(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// A Body is the own members of a result, as one object: encoded, or what encodes
// it to the end of a buffer.
type Body struct {
	JSON   []byte
	Append func(dst []byte) ([]byte, error) // where JSON is nil
	// TextOnly: it is known to hold nothing that a revision has no form for.
	TextOnly bool
}

func (b Body) appendTo(dst []byte) ([]byte, error) {
	if b.JSON != nil {
		return append(dst, b.JSON...), nil
	}
	return b.Append(dst)
}

// AppendResult appends the result object as the revision wants it. l may be nil.
func (r *Revision) AppendResult(dst []byte, method string, a Answer, body Body, l *Lowering) ([]byte, error) {
	if r.Modern {
		return appendModern(dst, method, a, body)
	}
	from := len(dst)
	if body.JSON != nil {
		body.JSON = l.lowerJSON(r, body.JSON, method)
	}
	dst, err := body.appendTo(dst)
	if err != nil {
		return nil, err
	}
	if body.JSON == nil && !body.TextOnly {
		if lowered := r.lower(dst[from:], method); &lowered[0] != &dst[from] {
			dst = append(dst[:from], lowered...)
		}
	}
	meta := withoutReserved(a.Meta)
	if meta == nil {
		return dst, nil
	}
	dst = reopen(dst, from)
	return append(append(append(dst, `"_meta":`...), meta...), '}'), nil
}

func appendModern(dst []byte, method string, a Answer, body Body) ([]byte, error) {
	if a.Type == "" {
		a.Type = "complete"
	}
	dst = append(append(append(dst, `{"resultType":"`...), a.Type...), '"')
	at := len(dst)
	dst, err := body.appendTo(dst)
	if err != nil {
		return nil, err
	}
	if len(dst)-at <= len("{}") {
		dst = dst[:at]
	} else {
		dst[at] = ',' // the body's own brace
		dst = dst[:len(dst)-1]
	}
	if a.Type == "complete" && Cacheable(method) {
		dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), a.TTL, 10)
		if a.Scope == "" {
			a.Scope = "private"
		}
		dst = append(append(append(dst, `,"cacheScope":"`...), a.Scope...), '"')
	}
	if a.Meta != nil {
		dst = append(append(dst, `,"_meta":`...), a.Meta...)
	}
	return append(dst, '}'), nil
}

// reopen takes the closing brace off the object that began at from, and leaves
// it ready for another member.
func reopen(dst []byte, from int) []byte {
	dst = dst[:len(dst)-1]
	if len(dst)-from > 1 {
		dst = append(dst, ',')
	}
	return dst
}

// withoutReserved is meta without the members that only the modern revision
// defines; nil if nothing is left.
func withoutReserved(meta json.RawMessage) json.RawMessage {
	if len(meta) <= len("{}") {
		return nil
	}
	if !bytes.Contains(meta, []byte(MetaReserved)) {
		return meta
	}
	var drop [8]string
	names := drop[:0]
	jsonrpc.EachMember(meta, func(quoted, _ []byte) bool {
		if bytes.HasPrefix(quoted[1:], []byte(MetaReserved)) {
			names = append(names, string(quoted[1:len(quoted)-1]))
		}
		return true
	})
	kept, any := jsonrpc.AppendEdited(nil, meta, names...)
	if !any {
		return nil
	}
	return append(kept, '}')
}

// Split takes a result apart as it came from a server of the revision: its own
// members, and what stands around them.
func (r *Revision) Split(result json.RawMessage, members *jsonrpc.Members) (json.RawMessage, Answer) {
	a := Answer{Meta: members.Get("_meta")}
	if !r.Modern {
		if a.Meta == nil {
			return result, a
		}
		return jsonrpc.Without(result, "_meta"), a
	}
	a.Type, _ = jsonrpc.Unquote(members.Get("resultType"))
	if ttl, err := strconv.ParseFloat(string(members.Get("ttlMs")), 64); err == nil && ttl > 0 {
		a.TTL = int64(min(ttl, 1<<50))
	}
	a.Scope, _ = jsonrpc.Unquote(members.Get("cacheScope"))
	return jsonrpc.Without(result, "resultType", "ttlMs", "cacheScope", "_meta"), a
}
