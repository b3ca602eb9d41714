package audit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// The kinds of lines.
const (
	KindCall       = "call"       // a request that was answered
	KindDecision   = "decision"   // whether a request may be handled, and why
	KindCheckpoint = "checkpoint" // a signature of all lines so far
	KindNote       = "note"       // what the log says of itself: lines lost, an end that was cut off
)

// A Record is what one line says. Empty fields are omitted.
type Record struct {
	Time time.Time // default now
	Kind string    // one of the constants above

	// Call is the same in all lines about one request.
	Call   string
	Method string
	Name   string // of tool or prompt; a URI, without user information and query
	Server string // behind a gateway
	Tool   string // the name that the server gives it
	Hash   string // of the tool's definition
	// Annotations are the hints that the definition gives, one JSON object; see [HintsOf].
	Annotations json.RawMessage
	Round       int      // of a call that asked the client something
	Principal   string   // the authenticated user
	Issuer      string   // who vouches for Principal
	Scopes      []string // that the user was granted
	Client      string   // the software, as it calls itself
	Profile     string
	Trace       string // the trace id of the request

	Decision string // allow, ask or deny
	Rule     string // that decided
	Reason   string // of a decision, an error, or a note

	Outcome   string        // of a call; see mcp.Outcome
	Code      int           // of an error of the protocol
	Resent    int           // how often it was sent to the server again, as nothing had come back
	Duration  time.Duration // of the Handler
	Sent      int           // bytes of the parameters
	Received  int           // bytes of the result
	Arguments json.RawMessage
	Result    json.RawMessage

	began time.Time
}

// stampFormat is how lines write times, in UTC.
const stampFormat = "2006-01-02T15:04:05.000000Z"

// append writes the record as a JSON object.
func (r *Record) append(dst []byte) []byte {
	w := jsonrpc.NewObject(dst)
	var stamp [32]byte
	w.StringBytes("time", r.Time.UTC().AppendFormat(stamp[:0], stampFormat))
	w.String("kind", r.Kind)
	text := func(name, value string) {
		if value != "" {
			w.String(name, value)
		}
	}
	number := func(name string, value int) {
		if value != 0 {
			w.Int(name, int64(value))
		}
	}
	raw := func(name string, value json.RawMessage) {
		if len(value) > 0 {
			w.Raw(name, value)
		}
	}
	text("call", r.Call)
	text("method", r.Method)
	text("name", r.Name)
	text("server", r.Server)
	text("tool", r.Tool)
	text("definition", r.Hash)
	raw("annotations", r.Annotations)
	number("round", r.Round)
	text("principal", r.Principal)
	text("issuer", r.Issuer)
	if len(r.Scopes) > 0 {
		w.Array("scopes")
		for _, scope := range r.Scopes {
			w.StringElement(scope)
		}
		w.End()
	}
	text("client", r.Client)
	text("profile", r.Profile)
	text("trace", r.Trace)
	text("decision", r.Decision)
	text("rule", r.Rule)
	text("reason", r.Reason)
	text("outcome", r.Outcome)
	number("code", r.Code)
	number("resent", r.Resent)
	number("duration_us", int(r.Duration/time.Microsecond))
	number("sent", r.Sent)
	number("received", r.Received)
	raw("arguments", r.Arguments)
	raw("result", r.Result)
	return w.Bytes()
}

// appendLine writes a line: an object with its number, its digest, and, if it ends a group, the
// group's seal.
func appendLine(dst, object []byte, seq uint64, d digest, seal *digest) []byte {
	w := jsonrpc.NewObject(dst)
	_ = w.EncodedMembers(func(dst []byte) ([]byte, error) { return append(dst, object...), nil }) // Record.append made it
	w.Int("seq", int64(seq))
	var text [digestSize]byte
	w.StringBytes("hash", d.append(text[:0]))
	if seal != nil {
		w.StringBytes("mac", seal.append(text[:0]))
	}
	return append(w.Bytes(), '\n')
}

// A line is what appendLine wrote.
type line struct {
	object []byte // without what follows
	seq    uint64
	digest digest
	seal   *digest // nil but at the end of a group
}

// isCheckpoint reports whether the line is a signature of those before it.
func (l *line) isCheckpoint() bool {
	return string(jsonrpc.Get(l.object, "kind")) == `"`+KindCheckpoint+`"`
}

// time is when the line was written; zero if it does not say so.
func (l *line) time() time.Time {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(l.object, "time"))
	at, _ := time.Parse(stampFormat, text)
	return at
}

// The members that appendLine adds, as they stand in a line.
var (
	seqMember  = []byte(`,"seq":`)
	hashMember = []byte(`,"hash":"`)
	macMember  = []byte(`,"mac":"`)
)

// parseLine reads a line, with or without its line break.
func parseLine(text []byte) (l line, ok bool) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	at := bytes.LastIndex(text, seqMember)
	if at < 2 {
		return l, false
	}
	l.object = append(bytes.Clone(text[:at]), '}')
	if l.object[0] != '{' || jsonrpc.Valid(l.object, jsonrpc.Limits{}) != nil {
		return l, false
	}
	number, rest, found := bytes.Cut(text[at+len(seqMember):], hashMember)
	seq, err := strconv.ParseUint(string(number), 10, 63)
	if !found || err != nil || len(number) > 1 && number[0] == '0' || len(rest) < digestSize {
		return l, false
	}
	l.seq = seq
	if l.digest, ok = parseDigest(string(rest[:digestSize])); !ok {
		return l, false
	}
	switch rest = rest[digestSize:]; {
	case string(rest) == `"}`:
		return l, true
	case len(rest) != 1+len(macMember)+digestSize+2 || rest[0] != '"' || !bytes.HasPrefix(rest[1:], macMember) || string(rest[len(rest)-2:]) != `"}`:
		return l, false
	}
	seal, ok := parseDigest(string(rest[1+len(macMember) : len(rest)-2]))
	l.seal = &seal
	return l, ok
}
