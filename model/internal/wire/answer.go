package wire

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// An Answer is an answer that is being received, with the state that all wires share.
type Answer struct {
	Provider string
	Emit     func(model.Delta)
	IDs      *IDs
	Marked   bool // the stream may end with [DONE] alone; other wires have an event for the end

	Model   string       // name of the answering model
	Reason  string       // reason for the end, as the provider names it
	Usage   *model.Usage // nil until the provider sends counts
	Refused bool         // the model refused by other means than Reason

	Begun     bool       // part of a message was received
	Done      bool       // the end was received; further input is ignored
	Fault     string     // reason to stop reading
	Complaint *Complaint // error of the provider
}

// An Assembly builds an answer in the format of one wire. Its input is valid JSON, but may have
// invalid UTF-8.
type Assembly interface {
	Event(data []byte) // adds an event of a stream
	Whole(data []byte) // adds an answer that is not a stream
	// Message returns the assembled message. If the answer broke off or was cut, it omits
	// incomplete calls.
	Message(broken bool) model.Message
}

// Complain records an error of the provider.
func (a *Answer) Complain(data []byte) {
	c := parseComplaint(data)
	a.Complaint = &c
}

// Text emits a piece of text.
func (a *Answer) Text(text string) {
	if text != "" {
		a.Emit(model.Delta{Text: text})
	}
}

// Reasoning emits a piece of reasoning.
func (a *Answer) Reasoning(text string) {
	if text != "" {
		a.Emit(model.Delta{Reasoning: text})
	}
}

// Arguments emits a piece of a call's arguments.
func (a *Answer) Arguments(call int, text string) {
	if text != "" {
		a.Emit(model.Delta{Call: &model.CallDelta{Index: call, Arguments: text}})
	}
}

// read reads an answer to its end. It is a stream, or one JSON text from a server that does not
// stream. Some of these servers set the wrong media type.
func (a *Answer) read(res *http.Response, into Assembly) error {
	body := bufio.NewReader(res.Body)
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	first, _ := body.Peek(1)
	for len(first) == 1 && strings.IndexByte(" \t\r\n", first[0]) >= 0 && media == "application/json" { // after white space, a stream or JSON may follow
		_, _ = body.Discard(1)
		first, _ = body.Peek(1)
	}
	if len(first) == 0 || media == "text/event-stream" || isEvent(body) || media != "application/json" && strings.IndexByte("{[<", first[0]) < 0 {
		return a.readStream(body, into)
	}
	data, err := io.ReadAll(io.LimitReader(body, MaxEvent+1))
	switch {
	case err != nil:
		return err
	case len(data) > MaxEvent:
		return eventstream.ErrTooLarge
	case !json.Valid(data):
		return errors.New(parseComplaint(data).Message)
	}
	into.Whole(bytes.TrimSpace(data))
	a.Done = true
	return nil
}

// isEvent reports whether the body is a stream of events. Some servers label a stream as JSON.
func isEvent(body *bufio.Reader) bool {
	first, _ := body.Peek(len("event:"))
	return len(first) > 0 && first[0] == ':' || bytes.HasPrefix(first, []byte("data:")) || bytes.Equal(first, []byte("event:"))
}

// readStream adds the events of a stream. Errors have several forms, one of which is an event named
// error with data that need not be JSON.
func (a *Answer) readStream(body io.Reader, into Assembly) error {
	// Some servers omit the blank line after the last event.
	events := eventstream.NewReader(io.MultiReader(body, strings.NewReader("\n\n")), MaxEvent)
	for !a.Done && a.Fault == "" && a.Complaint == nil {
		next, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch data := bytes.TrimSpace(next.Data); {
		case len(data) == 0:
		case bytes.HasPrefix(data, []byte("[DONE]")):
			a.Done = a.Done || a.Marked
			return nil
		case next.Name == "error" || bytes.HasPrefix(data, []byte(`{"error"`)) && !json.Valid(data):
			a.Complain(data)
		case json.Valid(data):
			into.Event(data)
		default:
			a.Fault = "an event of the stream is not valid JSON"
		}
	}
	return nil
}

// response returns the part of the response received so far.
func (a *Answer) response(req *model.Request, message model.Message, broken bool) *model.Response {
	message.Role = model.RoleAssistant
	res := &model.Response{Model: a.Model, StopDetail: a.Reason, Message: message, Stop: model.StopOther}
	if !broken {
		res.Stop = a.stop(len(message.Calls()))
	}
	if a.Usage != nil {
		res.Usage = *a.Usage
	} else {
		res.Usage = Estimate(req, &res.Message)
	}
	return res
}

// stop translates Reason. Some servers report a normal end although the answer has calls.
func (a *Answer) stop(calls int) model.StopReason {
	switch reason := strings.ToLower(a.Reason); {
	case a.Refused, strings.HasPrefix(reason, "content_filter"), reason == "safety", reason == "sensitive", reason == "refusal":
		return model.StopRefusal
	case a.IsCut():
		return model.StopLength
	case reason == "pause_turn":
		return model.StopPause
	case reason == "incomplete", reason == "cancelled":
		return model.StopOther
	case calls > 0:
		return model.StopCalls
	case reason == "", reason == "stop", reason == "eos", reason == "end_turn", reason == "stop_sequence", reason == "completed":
		return model.StopEnd
	}
	return model.StopOther
}

// IsCut reports whether the answer ended at the limit of tokens.
func (a *Answer) IsCut() bool {
	switch strings.ToLower(a.Reason) {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return true
	}
	return false
}

// NotShown returns the text in place of media that cannot be sent.
func NotShown(media *model.Media) string {
	return fmt.Sprintf("[%s of %d bytes, which cannot be shown to this model]", media.Type, len(media.Data))
}

// Contents returns parts as one text if possible, because some servers support nothing else.
// Otherwise it returns a list with a text or media for each part, in the form of the wire. A text
// replaces media that have no form.
func Contents[C any](parts []model.Part, text func(string) C, media func(*model.Media) (C, bool)) any {
	var list []C
	var texts []string
	for _, p := range parts {
		if p.Media != nil {
			if c, has := media(p.Media); has {
				list = append(list, c)
				continue
			}
			p.Text = NotShown(p.Media)
		}
		if p.Text != "" {
			list, texts = append(list, text(p.Text)), append(texts, p.Text)
		}
	}
	if len(list) == len(texts) {
		return strings.Join(texts, "\n\n")
	}
	return list
}

// DataURL returns a data URL with the media.
func DataURL(media *model.Media) string {
	return "data:" + media.Type + ";base64," + base64.StdEncoding.EncodeToString(media.Data)
}

// ResultText returns the text of a result for wires that have no member for errors.
func ResultText(r *model.Result) string {
	var texts []string
	for _, p := range r.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		} else if p.Media != nil {
			texts = append(texts, NotShown(p.Media))
		}
	}
	return MarkError(r, strings.Join(texts, "\n"))
}

// MarkError marks the text of a result as an error, and replaces an empty text.
func MarkError(r *model.Result, text string) string {
	switch {
	case r.IsError && !json.Valid([]byte(text)):
		return "Error: " + text
	case text == "":
		return "(no output)"
	}
	return text
}

// Joined joins pieces of text. It holds a character that is split between pieces until it is
// complete. Invalid bytes become U+FFFD.
type Joined struct {
	strings.Builder
	rest string
}

// Add adds a piece and returns the text that is complete after it.
func (j *Joined) Add(piece string) string {
	if piece == "" {
		return ""
	}
	text := j.rest + piece
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if b := text[len(text)-back]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(text[len(text)-back:]) {
				whole -= back
			}
			break
		}
	}
	j.rest = text[whole:]
	return j.write(text[:whole])
}

// End returns the held bytes as text.
func (j *Joined) End() string {
	rest := j.rest
	j.rest = ""
	return j.write(rest)
}

func (j *Joined) write(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // one U+FFFD for each byte, however the text was split
	}
	j.WriteString(text)
	return text
}

// maxArguments is the maximum size of one call's arguments in bytes.
const maxArguments = 4 << 20

// SetArguments sets the arguments of a call from the model's text. An empty text or null becomes an
// empty object, and an object inside a JSON string is unwrapped. Any other value makes the call
// malformed.
func SetArguments(call *model.Call, written string) {
	text := strings.TrimSpace(written)
	if inner, ok := quotedObject(text); ok {
		text = inner
	}
	if text == "" || text == "null" {
		text = "{}"
	}
	if problem := objectProblem(text); problem != "" {
		call.Arguments, call.Malformed, call.Raw = json.RawMessage("{}"), problem, written
		return
	}
	call.Arguments = json.RawMessage(text)
}

func quotedObject(text string) (string, bool) {
	if !strings.HasPrefix(text, `"`) || len(text) > maxArguments || jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) != nil {
		return "", false
	}
	inner, ok := jsonrpc.Unquote([]byte(text))
	inner = strings.TrimSpace(inner)
	return inner, ok && (inner == "" || strings.HasPrefix(inner, "{"))
}

func objectProblem(text string) string {
	switch {
	case len(text) > maxArguments:
		return "the arguments are longer than 4 MiB"
	case text[0] != '{':
		return "the arguments are not a JSON object"
	}
	if fault := jsonrpc.Valid([]byte(text), jsonrpc.Limits{}); fault != nil {
		return "the arguments are not valid JSON: " + fault.Message
	}
	return ""
}

// IDs makes the ids of calls unique. Some servers send none, count again from the start in every
// message, or send the same id for several calls.
type IDs struct {
	taken map[string]bool
	turn  int
	next  int
}

// NewIDs returns IDs that treat the ids of the conversation as taken.
func NewIDs(req *model.Request) *IDs {
	i := &IDs{taken: map[string]bool{}, turn: len(req.Messages)}
	for m := range req.Messages {
		for _, c := range req.Messages[m].Calls() {
			i.taken[c.ID] = true
		}
	}
	return i
}

// Unique returns id, or a new id made from the position in the conversation if id is empty or
// taken.
func (i *IDs) Unique(id string) string {
	for id == "" || i.taken[id] {
		id = fmt.Sprintf("call_%d_%d", i.turn, i.next)
		i.next++
	}
	i.taken[id] = true
	return id
}

// ShortID returns the id of a call. An id of more than limit bytes, the provider's limit, is
// replaced by a short hash, because the id may come from another provider.
func ShortID(id string, limit int) string {
	if len(id) <= limit {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Marshal encodes v, an object, as JSON and adds the members of more, which replace members of v
// with the same name. Invalid UTF-8 becomes U+FFFD.
func Marshal[V any](v any, more map[string]V) (json.RawMessage, error) {
	object, err := encode(v)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		value, err := encode(more[name])
		if err != nil {
			return nil, err
		}
		object = jsonrpc.With(object, name, value)
	}
	return object, nil
}

// encode is like json.Marshal without HTML escapes, which would cost tokens if a server passes the
// JSON to the model unchanged.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// String returns the text of a JSON string, and "" for other values. Unlike other code of Junction
// it accepts invalid UTF-8 and keeps the bytes, because some servers split a character between two
// events.
func String(raw []byte) string {
	if text, ok := jsonrpc.Unquote(raw); ok {
		return text
	}
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	var b strings.Builder
	for rest := raw[1 : len(raw)-1]; len(rest) > 0; {
		plain, end := escapeRun(rest)
		b.Write(rest[:plain])
		var escaped string
		if json.Unmarshal(slices.Concat([]byte{'"'}, rest[plain:end], []byte{'"'}), &escaped) == nil {
			b.WriteString(escaped)
		}
		rest = rest[end:]
	}
	return b.String()
}

// StringOf returns [String] of a member, or "" if it is missing.
func StringOf(object []byte, name string) string { return String(jsonrpc.Get(object, name)) }

// MembersBut returns the members of an object that are neither null nor known to the adapter, or
// nil if there are none.
func MembersBut(object []byte, known ...string) map[string]json.RawMessage {
	var more map[string]json.RawMessage
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		if name := String(quoted); string(value) != "null" && !slices.Contains(known, name) {
			if more == nil {
				more = map[string]json.RawMessage{}
			}
			more[name] = slices.Clone(value)
		}
		return true
	})
	return more
}

// Extra returns members in the form of the field Extra of messages and calls, or nil if there are
// none.
func Extra(provider string, members map[string]json.RawMessage) map[string]map[string]json.RawMessage {
	if members == nil {
		return nil
	}
	return map[string]map[string]json.RawMessage{provider: members}
}

// escapeRun returns the start and end of the first run of escapes in a text.
func escapeRun(text []byte) (start, end int) {
	start = bytes.IndexByte(text, '\\')
	if start < 0 {
		return len(text), len(text)
	}
	for end = start; end+1 < len(text) && text[end] == '\\'; {
		if text[end+1] == 'u' {
			end += len(`u0000`)
		} else {
			end++
		}
		end++
	}
	return start, min(end, len(text))
}

// Number returns the number in a member of an object, or 0 if there is none.
func Number(object []byte, name string) int {
	var n float64
	if json.Unmarshal(jsonrpc.Get(object, name), &n) != nil {
		return 0
	}
	const most = 1<<31 - 1 // a limit, so that sums do not overflow
	return int(max(0, min(n, most)))
}
