package audit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// The kinds of lines.
const (
	KindCall       = "call"       // a request that was handled
	KindAdmin      = "admin"      // an administrative event, see [Events]
	KindDecision   = "decision"   // a decision whether a request may be handled, with the reason
	KindCheckpoint = "checkpoint" // a signature of all lines so far
	KindNote       = "note"       // a report about the log itself, such as lost lines or an end that was cut off
	KindExpired    = "expired"    // lines that the log removed because of its size or their age
)

// A Record is one line of the log, without the members that link it to other lines. Empty fields
// are omitted. The tags are those of [fields.Table], with two more. The tag column is the format
// that junction audit query uses to print the field. The tag export:"attribute" makes the field an
// attribute of an exported log record.
type Record struct {
	Time time.Time `json:"time" layout:"2006-01-02T15:04:05.000000Z" doc:"the time of the line"` // the default is the current time
	Kind string    `json:"kind" export:"attribute" doc:"'call', written after the response; 'decision'; 'admin', of an [event](#administrative-events); 'checkpoint'; 'note' about the log itself, such as a missing file; or 'expired', with the ranges of all removed lines"`

	Event       string          `json:"event,omitzero" export:"attribute" doc:"the administrative event"`
	Call        string          `json:"call,omitzero" doc:"the same text in all lines about one request"`
	Task        string          `json:"task,omitzero" doc:"the id of the task that the call became. If a replica ended before it stored the result, the one that continued the task wrote a second line with this id"`
	Method      string          `json:"method,omitzero" export:"attribute" doc:"the method of the request"`
	Name        string          `json:"name,omitzero" export:"attribute" doc:"the tool or prompt as the client named it, or the URI without user information and query; for an event see its row"`
	Server      string          `json:"server,omitzero" export:"attribute" doc:"the server of a tool behind a gateway"`
	Tool        string          `json:"tool,omitzero" export:"attribute" doc:"the server's own name for the tool"`
	Hash        string          `json:"definition,omitzero" doc:"the hash of the tool's definition"`
	Annotations json.RawMessage `json:"annotations,omitempty" doc:"hints of the tool's definition: 'readOnly', 'destructive', 'idempotent', 'openWorld'"` // see [HintsOf]
	Round       int             `json:"round,omitzero" doc:"the number of the round of a call that asked its client"`
	Principal   string          `json:"principal,omitzero" column:"principal %s" export:"attribute" doc:"the authenticated user, or the user whom an event is about"`
	Operator    string          `json:"operator,omitzero" column:"by %s" export:"attribute" doc:"the operating system's user of a command, or the way of an administrator, such as --admin"`
	Address     string          `json:"address,omitzero" column:"from %s" export:"attribute" doc:"the address of the caller who caused an event"`
	Issuer      string          `json:"issuer,omitzero" doc:"the issuer of the user's token"`
	Scopes      []string        `json:"scopes,omitempty" doc:"the scopes that the user was granted"`
	Client      string          `json:"client,omitzero" column:"client %s" export:"attribute" doc:"the client's name and version, as 'NAME/VERSION'"`
	Profile     string          `json:"profile,omitzero" export:"attribute" doc:"the profile of the gateway"`
	Role        string          `json:"role,omitzero" column:"role %s" export:"attribute" doc:"the role by which the user used the tool, prompt or resource"`
	Trace       string          `json:"trace,omitzero" doc:"the id of the request's trace"`

	Decision string `json:"decision,omitzero" export:"attribute" doc:"'allow', in the line of the call; 'deny'; or 'ask', with '--shadow' only"`
	Rule     string `json:"rule,omitzero" column:"rule %s" export:"attribute" doc:"the rule, limit or check that decided"`
	Reason   string `json:"reason,omitzero" column:"reason %s" doc:"the reason of a decision or failure; the text of a note"`

	Approver     string        `json:"approver,omitzero" column:"approver %s" export:"attribute" doc:"the callers who approved the call, or the one who refused it"`
	ApproverRole string        `json:"approver_role,omitzero" doc:"the roles for which they answered, in the same order"`
	Waited       time.Duration `json:"-" field:"waited_us,omitzero" unit:"us" column:"waited %s" doc:"the time in microseconds that the call waited for approval"`

	Refused   int             `json:"refused,omitzero" column:"%s refused" doc:"the number of refused requests of this kind since the previous line about them; this line is about the newest"`
	Outcome   string          `json:"outcome,omitzero" export:"attribute" doc:"the outcome of a call: 'ok', 'tool_error', 'input_required', 'cancelled' or 'error'"` // see mcp.Outcome
	Code      int             `json:"code,omitzero" doc:"the code of a protocol error"`
	Resent    int             `json:"resent,omitzero" column:"sent again %s×" doc:"how often it was repeated because no response came"`
	Rewritten []string        `json:"rewritten,omitempty" column:"%s rewritten" doc:"the parts of the call that layers changed: 'arguments', 'result'"`
	Duration  time.Duration   `json:"-" field:"duration_us,omitzero" unit:"us" column:"%s" doc:"the time of the call in microseconds"`
	Sent      int             `json:"sent,omitzero" doc:"bytes of the parameters"`
	Received  int             `json:"received,omitzero" doc:"bytes of the result"`
	Arguments json.RawMessage `json:"arguments,omitempty" column:"arguments %s" doc:"the kept part of the arguments"`
	Files     json.RawMessage `json:"files,omitempty" column:"files %s" doc:"the files that were read, each with its SHA-256 in hexadecimal"`
	Result    json.RawMessage `json:"result,omitempty" doc:"the kept part of the result"`

	began   time.Time
	refusal bool   // whether the request was refused
	caller  string // caller of a refused request, in the form of internal/share
}

// A Filter selects lines. A line must match all fields that are not empty. The tags are those of
// [fields.Params].
type Filter struct {
	Since time.Time `match:"since" member:"time" doc:"lines since WHEN: a time such as 2026-11-23T12:00:00Z, a date (in the local time zone), or a duration ago, such as 24h"`
	Until time.Time `match:"until" member:"time" doc:"lines before WHEN"`
	// Kind, Outcome and Decision must equal the line's value, or be a comma-separated list that
	// contains it.
	Kind     string `match:"equal" enum:"call,decision,admin,checkpoint,note,expired,all" doc:"lines of this KIND, or of several with commas: call, decision, admin, checkpoint, note, expired or all"`
	Outcome  string `match:"equal" enum:"ok,tool_error,input_required,cancelled,error" doc:"calls with this OUTCOME: ok, tool_error, input_required, cancelled or error"`
	Decision string `match:"equal" enum:"allow,ask,deny" doc:"decisions to EFFECT: allow, ask or deny"`
	// Event is a list like Kind.
	Event string `match:"equal" doc:"administrative events with this NAME, such as login"`
	// Principal, Server and Call must equal the line's value.
	Principal string `match:"equal" doc:"lines about this USER"`
	Server    string `match:"equal" doc:"lines about this SERVER"`
	Call      string `match:"equal" doc:"all lines about the call with this ID"`
	Role      string `match:"equal" doc:"calls that users made in this ROLE"`
	// Name and Client must be substrings of the line's value. Case is ignored.
	Name   string `name:"tool" match:"part" member:"name" doc:"lines whose tool, prompt or resource has this TEXT in its name"`
	Client string `match:"part" doc:"lines whose client has this TEXT in its name"`
}

// Enum returns the valid values of a parameter that are not in a tag: for event the names of
// [Events].
func (Filter) Enum(name string) (values []string) {
	if name == "event" {
		for _, e := range Events() {
			values = append(values, e.Name)
		}
	}
	return values
}

var (
	records = fields.Of[Record]()
	filters = fields.ParamsOf[Filter]()
)

// stampFormat is the format of times in lines, which are in UTC.
const stampFormat = "2006-01-02T15:04:05.000000Z"

// append appends the record as a JSON object.
func (r *Record) append(dst []byte) []byte { return records.Append(dst, r, nil) }

// appendLine appends a line: the object with its number and digest and, at the end of a group, the
// group's MAC.
func appendLine(dst, object []byte, seq uint64, d digest, seal *digest) []byte {
	w := jsonrpc.NewObject(dst)
	_ = w.EncodedMembers(func(dst []byte) ([]byte, error) { return append(dst, object...), nil }) // cannot fail, because Record.append made the object
	w.Int("seq", int64(seq))
	var text [digestSize]byte
	w.StringBytes("hash", d.append(text[:0]))
	if seal != nil {
		w.StringBytes("mac", seal.append(text[:0]))
	}
	return append(w.Bytes(), '\n')
}

// A line is a parsed line of a log.
type line struct {
	object []byte // object without seq, hash and mac
	seq    uint64
	digest digest
	seal   *digest // MAC of the group; nil unless the line ends a group
}

// isCheckpoint reports whether the line is a checkpoint.
func (l *line) isCheckpoint() bool { return l.is(KindCheckpoint) }

// isExpired reports whether the line reports removed lines.
func (l *line) isExpired() bool { return l.is(KindExpired) }

func (l *line) is(kind string) bool {
	return string(jsonrpc.Get(l.object, "kind")) == `"`+kind+`"`
}

// time returns the time in the line, or zero if it has none.
func (l *line) time() time.Time {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(l.object, "time"))
	at, _ := time.Parse(stampFormat, text)
	return at
}

// The beginnings of the members that appendLine adds.
var (
	seqMember  = []byte(`,"seq":`)
	hashMember = []byte(`,"hash":"`)
	macMember  = []byte(`,"mac":"`)
)

// parseLine parses a line, with or without its line break.
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
