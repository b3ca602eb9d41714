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

// Answer is an answer while it comes, as far as all wires have the same of it.
type Answer struct {
	Provider string
	Emit     func(model.Delta)
	IDs      *IDs
	Marked   bool // of a stream with nothing but [DONE] behind it, that is the end; other wires have an event for it

	Model   string       // under which it was answered
	Reason  string       // why the model stopped, as the provider calls it
	Usage   *model.Usage // nil while the provider has counted nothing
	Refused bool         // the model said so with more than the reason

	Begun     bool       // something of a message has come
	Done      bool       // its end has come; nothing more is read
	Fault     string     // why nothing more is read
	Complaint *Complaint // what the provider says instead
}

// Assembly puts an answer together, in the form of one wire. Both kinds of JSON are valid but for bytes that are no text.
type Assembly interface {
	Event(data []byte) // takes in an event of a stream
	Whole(data []byte) // takes in an answer that is no stream
	// Message is what all of it adds up to. Of an answer that broke off, or was cut, calls that are not complete are left out.
	Message(broken bool) model.Message
}

// Complain takes in what the provider says instead of an answer.
func (a *Answer) Complain(data []byte) {
	c := complaintOf(data)
	a.Complaint = &c
}

// Text emits a piece of the text.
func (a *Answer) Text(text string) {
	if text != "" {
		a.Emit(model.Delta{Text: text})
	}
}

// Reasoning emits a piece of what the model thought.
func (a *Answer) Reasoning(text string) {
	if text != "" {
		a.Emit(model.Delta{Reasoning: text})
	}
}

// Arguments emits a piece of the arguments of a call.
func (a *Answer) Arguments(call int, text string) {
	if text != "" {
		a.Emit(model.Delta{Call: &model.CallDelta{Index: call, Arguments: text}})
	}
}

// read reads an answer to its end: a stream, or one JSON text of a server that does not stream, which
// not all of these say.
func (a *Answer) read(res *http.Response, into Assembly) error {
	body := bufio.NewReader(res.Body)
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	first, _ := body.Peek(1)
	for len(first) == 1 && strings.IndexByte(" \t\r\n", first[0]) >= 0 && media == "application/json" { // behind which either may be
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
		return errors.New(complaintOf(data).Message)
	}
	into.Whole(bytes.TrimSpace(data))
	a.Done = true
	return nil
}

// isEvent reports whether a stream begins here, which some servers call JSON, as its events are.
func isEvent(body *bufio.Reader) bool {
	first, _ := body.Peek(len("event:"))
	return len(first) > 0 && first[0] == ':' || bytes.HasPrefix(first, []byte("data:")) || bytes.Equal(first, []byte("event:"))
}

// readStream takes in the events of a stream. Errors have several forms, of which one is an event of that
// name whose data may be no JSON.
func (a *Answer) readStream(body io.Reader, into Assembly) error {
	// Some servers forget the blank line behind the last event.
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

// response is what came.
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

// stop translates the reason. Some servers say that it is done where they mean calls.
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

// IsCut reports whether the answer ended where the limit of tokens was reached.
func (a *Answer) IsCut() bool {
	switch strings.ToLower(a.Reason) {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return true
	}
	return false
}

// NotShown says what stands where media cannot be sent.
func NotShown(media *model.Media) string {
	return fmt.Sprintf("[%s of %d bytes, which cannot be shown to this model]", media.Type, len(media.Data))
}

// Contents are parts as a text where that is enough, as some servers know nothing else, or else a list with a text
// or media for each, as a wire has them. A text says what media were for which media has no form.
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

// DataURL is a URL that holds media.
func DataURL(media *model.Media) string {
	return "data:" + media.Type + ";base64," + base64.StdEncoding.EncodeToString(media.Data)
}

// ResultText is the text of a result on wires that have no member for errors.
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

// MarkError marks the text of a result that is an error, and one that is empty.
func MarkError(r *model.Result, text string) string {
	switch {
	case r.IsError && !json.Valid([]byte(text)):
		return "Error: " + text
	case text == "":
		return "(no output)"
	}
	return text
}

// Joined is text from pieces. A character whose bytes came in two pieces is
// given on when it is whole; bytes that are none become U+FFFD.
type Joined struct {
	strings.Builder
	rest string
}

// Add takes in a piece, and returns what can be shown now.
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

// End returns what was held back.
func (j *Joined) End() string {
	rest := j.rest
	j.rest = ""
	return j.write(rest)
}

func (j *Joined) write(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // byte by byte, however they came
	}
	j.WriteString(text)
	return text
}

// maxArguments is how many bytes the arguments of one call may have.
const maxArguments = 4 << 20

// SetArguments reads what a model wrote as arguments into the call. Nothing and null are an empty object, and an object
// within a JSON string is taken out of it; what else is no object makes the call malformed.
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

// IDs hands out the ids of calls. Those of some servers are missing, or begin anew
// with every message, or are the same for several calls.
type IDs struct {
	taken map[string]bool
	turn  int
	next  int
}

// NewIDs knows the ids of the conversation.
func NewIDs(req *model.Request) *IDs {
	i := &IDs{taken: map[string]bool{}, turn: len(req.Messages)}
	for m := range req.Messages {
		for _, c := range req.Messages[m].Calls() {
			i.taken[c.ID] = true
		}
	}
	return i
}

// Unique returns the id, or one made from its place in the conversation.
func (i *IDs) Unique(id string) string {
	for id == "" || i.taken[id] {
		id = fmt.Sprintf("call_%d_%d", i.turn, i.next)
		i.next++
	}
	i.taken[id] = true
	return id
}

// ShortID is the id of a call where a provider takes only so many bytes: calls of
// another provider can be in the conversation.
func ShortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Marshal writes v, which is an object, as JSON, with more members: they replace
// those of v that have the same name. Bytes that are not text become U+FFFD.
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

// encode is json.Marshal without escapes for HTML, which cost tokens where a server
// shows the text of a request to the model as it is.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// String returns the text of a JSON string, and "" for anything else. Unlike the rest of Junction it takes strings that
// are not valid UTF-8, and keeps their bytes: some servers send a character in two pieces.
func String(raw []byte) string {
	if text, ok := jsonrpc.Unquote(raw); ok {
		return text
	}
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	var b strings.Builder
	for rest := raw[1 : len(raw)-1]; len(rest) > 0; {
		plain, end := runs(rest)
		b.Write(rest[:plain])
		var escaped string
		if json.Unmarshal(slices.Concat([]byte{'"'}, rest[plain:end], []byte{'"'}), &escaped) == nil {
			b.WriteString(escaped)
		}
		rest = rest[end:]
	}
	return b.String()
}

// StringOf is the text of a member, as [String]; "" if there is none.
func StringOf(object []byte, name string) string { return String(jsonrpc.Get(object, name)) }

// MembersBut are the members of an object that say something, but for those that
// an adapter knows; nil if there are none.
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

// Extra is what of a message or call goes back to its provider as it came; nil if nothing does.
func Extra(provider string, members map[string]json.RawMessage) map[string]map[string]json.RawMessage {
	if members == nil {
		return nil
	}
	return map[string]map[string]json.RawMessage{provider: members}
}

// runs returns where the first escapes of a text begin and end.
func runs(text []byte) (start, end int) {
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

// Number returns the count that a member of an object holds; 0 if it holds none.
func Number(object []byte, name string) int {
	var n float64
	if json.Unmarshal(jsonrpc.Get(object, name), &n) != nil {
		return 0
	}
	const most = 1<<31 - 1 // so that counts can be added up
	return int(max(0, min(n, most)))
}
