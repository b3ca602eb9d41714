package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// ErrInvalid is wrapped by the errors of [Check].
var ErrInvalid = errors.New("no strict provider takes this request")

// Check reports whether every provider would accept a request. It checks all rules whose violation
// some provider refuses with status 400. It returns nil, or an error that wraps [ErrInvalid] and
// names the invalid message, call or tool.
//
// The first message is the user's. Messages and results consist of parts with one field set, and
// texts are not blank. Every call has a unique ID and one result, in the messages of RoleTool right
// after it; every result has a call. Names of tools are portable and unique, and their schemas are
// JSON objects. The last message is not the assistant's, unless it has an opaque block from which
// the provider wants to continue ([StopPause]).
//
// Tests of a host use Check to prove that a history is valid after every possible end of a run.
// Check passes over the request once.
func Check(req *Request) error {
	if req == nil {
		return fmt.Errorf("%w: there is none", ErrInvalid)
	}
	for _, check := range []func(*Request) error{checkOptions, checkTools, checkMessages, checkPairs} {
		if err := check(req); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

func checkOptions(req *Request) error {
	switch {
	case req.Choice != ChoiceAuto && req.Choice != ChoiceNone && req.Choice != ChoiceRequired:
		return fmt.Errorf("choice %q is none of none, required and empty", req.Choice)
	case req.Choice == ChoiceRequired && len(req.Tools) == 0:
		return errors.New("a call is required, and there are no tools")
	case req.CachedTools < 0 || req.CachedTools > len(req.Tools):
		return fmt.Errorf("%d of %d tools are cached", req.CachedTools, len(req.Tools))
	case req.MaxTokens < 0:
		return fmt.Errorf("the limit of tokens is %d", req.MaxTokens)
	case !utf8.ValidString(req.System):
		return errors.New("the system prompt is not UTF-8")
	}
	return nil
}

func checkTools(req *Request) error {
	seen := make(map[string]bool, len(req.Tools))
	for i := range req.Tools {
		t := &req.Tools[i]
		switch {
		case !IsPortable(t.Name):
			return fmt.Errorf("tool %q: not every provider takes the name", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("tool %q is there twice", t.Name)
		case !utf8.ValidString(t.Description):
			return fmt.Errorf("tool %q: the description is not UTF-8", t.Name)
		}
		seen[t.Name] = true
		if err := checkSchema(t.Schema); err != nil {
			return fmt.Errorf("tool %q: %w", t.Name, err)
		}
	}
	return nil
}

func checkSchema(schema json.RawMessage) error {
	if schema == nil {
		return nil
	}
	members, fault := jsonrpc.Index(schema, jsonrpc.Limits{})
	if fault != nil {
		return fmt.Errorf("the schema is not a JSON object: %s", fault.Message)
	}
	if kind := members.Get("type"); kind != nil && string(kind) != `"object"` {
		return fmt.Errorf("the schema is of type %s, and arguments are an object", kind)
	}
	return nil
}

func checkMessages(req *Request) error {
	if len(req.Messages) == 0 {
		return errors.New("there are no messages")
	}
	for i := range req.Messages {
		if err := checkMessage(&req.Messages[i]); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if first := req.Messages[0].Role; first != RoleUser {
		return fmt.Errorf("message 0 is of role %q, and the first must be the user's", first)
	}
	last := &req.Messages[len(req.Messages)-1]
	if last.Role == RoleAssistant && !slices.ContainsFunc(last.Parts, func(p Part) bool { return p.Opaque != nil }) {
		return fmt.Errorf("message %d, the last, is the assistant's", len(req.Messages)-1)
	}
	return nil
}

func checkMessage(m *Message) error {
	if m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool {
		return fmt.Errorf("there is no role %q", m.Role)
	}
	if len(m.Parts) == 0 {
		return fmt.Errorf("a message of role %q has no parts", m.Role)
	}
	for i := range m.Parts {
		if err := checkPart(m.Role, &m.Parts[i]); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return checkExtra(m.Extra)
}

func checkPart(role Role, p *Part) error {
	if fields(p) != 1 {
		return fmt.Errorf("%d fields are set, and it must be one", fields(p))
	}
	allowed := false
	switch role {
	case RoleUser:
		allowed = p.Text != "" || p.Media != nil || p.Opaque != nil
	case RoleAssistant:
		allowed = p.Text != "" || p.Reasoning != nil || p.Call != nil || p.Opaque != nil
	case RoleTool:
		allowed = p.Result != nil
	}
	switch {
	case !allowed:
		return fmt.Errorf("a message of role %q cannot hold it", role)
	case p.Call != nil:
		switch {
		case p.Call.ID == "":
			return fmt.Errorf("the call of %q has no id", p.Call.Name)
		case !IsPortable(p.Call.Name):
			return fmt.Errorf("call %q: not every provider takes the name %q", p.Call.ID, p.Call.Name)
		}
		if _, fault := jsonrpc.Index(p.Call.Arguments, jsonrpc.Limits{}); fault != nil {
			return fmt.Errorf("call %q: the arguments are not a JSON object: %s", p.Call.ID, fault.Message)
		}
		return checkExtra(p.Call.Extra)
	case p.Result != nil:
		return checkResult(p.Result)
	}
	return checkContent(p)
}

func checkContent(p *Part) error {
	switch {
	case p.Text != "" && strings.TrimSpace(p.Text) == "":
		return errors.New("the text is nothing but space")
	case !utf8.ValidString(p.Text):
		return errors.New("the text is not UTF-8")
	case p.Media != nil && (p.Media.Type == "" || len(p.Media.Data) == 0):
		return errors.New("the media has no type or no data")
	case p.Opaque != nil && !json.Valid(p.Opaque.Raw):
		return errors.New("the opaque block is no JSON")
	case p.Reasoning != nil && p.Reasoning.Raw != nil && !json.Valid(p.Reasoning.Raw):
		return errors.New("the reasoning's block is no JSON")
	}
	return nil
}

// fields returns the number of set fields of a part.
func fields(p *Part) int {
	n := 0
	for _, set := range []bool{p.Text != "", p.Media != nil, p.Reasoning != nil, p.Call != nil, p.Result != nil, p.Opaque != nil} {
		if set {
			n++
		}
	}
	return n
}

func checkResult(r *Result) error {
	if r.CallID == "" {
		return fmt.Errorf("a result of %q names no call", r.Name)
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if fields(p) != 1 || p.Text == "" && p.Media == nil {
			return fmt.Errorf("result of call %q: part %d is neither text nor media", r.CallID, i)
		}
		if err := checkContent(p); err != nil && strings.TrimSpace(p.Text) != "" {
			return fmt.Errorf("result of call %q: part %d: %w", r.CallID, i, err)
		}
	}
	return nil
}

func checkExtra(extra map[string]map[string]json.RawMessage) error {
	for provider, members := range extra {
		for name, raw := range members {
			if !json.Valid(raw) {
				return fmt.Errorf("the extra member %q of %q is no JSON", name, provider)
			}
		}
	}
	return nil
}

// checkPairs checks that calls and results match.
func checkPairs(req *Request) error {
	used := map[string]bool{}
	open := map[string]string{} // names of calls without a result, by id
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != RoleTool {
			if err := unanswered(open, i); err != nil {
				return err
			}
		}
		for j := range m.Parts {
			if c := m.Parts[j].Call; c != nil {
				if used[c.ID] {
					return fmt.Errorf("message %d: the id %q is that of two calls", i, c.ID)
				}
				used[c.ID], open[c.ID] = true, c.Name
			}
			if r := m.Parts[j].Result; r != nil {
				if err := closeCall(open, r, used[r.CallID]); err != nil {
					return fmt.Errorf("message %d: %w", i, err)
				}
			}
		}
	}
	return unanswered(open, len(req.Messages))
}

// closeCall removes a result's call from open. It fails if there is none.
func closeCall(open map[string]string, r *Result, used bool) error {
	name, found := open[r.CallID]
	switch {
	case !found && used:
		return fmt.Errorf("call %q has a second result, or one that comes late", r.CallID)
	case !found:
		return fmt.Errorf("a result of %q answers the call %q, which is not there", r.Name, r.CallID)
	case r.Name != name:
		return fmt.Errorf("call %q is of %q, and its result of %q", r.CallID, name, r.Name)
	}
	delete(open, r.CallID)
	return nil
}

func unanswered(open map[string]string, before int) error {
	first := ""
	for id := range open {
		if first == "" || id < first {
			first = id
		}
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("call %q of %q has no result before message %d", first, open[first], before)
}

const (
	maxName  = 64 // characters of a name that every provider accepts
	nameHash = 8  // characters of a hash that distinguishes shortened names
)

// Names converts names of tools to portable ones, which every provider accepts, and back. It never
// forgets a name. Each portable name depends only on its original, so all Names agree. It is not
// safe for concurrent use.
type Names struct {
	portable map[string]string // by original name
	original map[string]string // by portable name
}

// NewNames returns an empty Names.
func NewNames() *Names {
	return &Names{portable: map[string]string{}, original: map[string]string{}}
}

// Portable returns the portable name of an original one. An original that matches
// [A-Za-z_][A-Za-z0-9_-]{0,63} stays the same. Any other becomes a matching name that ends in a
// hash of the original. So does a name that looks as if it ended in a hash, so that no tool can
// take another's name.
func (n *Names) Portable(original string) string {
	if name, known := n.portable[original]; known {
		return name
	}
	name := sanitized(original)
	if name != original || looksHashed(name) {
		name = n.hashed(name, original)
	}
	n.portable[original], n.original[name] = name, original
	return name
}

// hashed appends a hash of the original to a name. If the result is taken, which would take four
// billion attempts to cause, it appends a longer hash.
func (n *Names) hashed(name, original string) string {
	sum := sha256.Sum256([]byte(original))
	digits := hex.EncodeToString(sum[:])
	for length := nameHash; ; length++ {
		made := name[:min(len(name), maxName-length-1)] + "_" + digits[:length]
		if _, taken := n.original[made]; !taken {
			return made
		}
	}
}

func looksHashed(name string) bool {
	at := len(name) - nameHash
	return at >= 1 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == ""
}

// IsPortable reports whether every provider accepts a name unchanged.
func IsPortable(name string) bool { return sanitized(name) == name }

// Original returns the original of a portable name, or "" if it is unknown.
func (n *Names) Original(portable string) string { return n.original[portable] }

// sanitized replaces or adds characters so that every provider accepts the name.
func sanitized(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] == '-' || '0' <= clean[0] && clean[0] <= '9' {
		clean = "_" + clean
	}
	return clean[:min(len(clean), maxName)]
}
