package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/toolsearch"
	"github.com/junction-mcp/junction/traffic"
)

const (
	maxCallMessages = 1_000   // maximum number of messages that are shown of one call, from the first on
	maxCallBytes    = 8 << 20 // maximum bytes of these messages; only the summaries of others are shown

	// Times come from the system clock, which may be adjusted. Durations come from a monotonic
	// clock.
	clockSlack = time.Millisecond
)

// A detail is a complete message with its summary.
type detail struct {
	summary
	stored
	// Tokens is the approximate number of tokens of a result for a model.
	Tokens int `json:"tokens,omitempty"`
	// Missing is the reason why there is no message.
	Missing string `json:"missing,omitempty"`
}

// A span is a request of a call, with its response.
type span struct {
	Seq    uint64 `json:"seq"`
	Answer uint64 `json:"answer,omitempty"` // number of the response; 0 if there is none
	Hop    string `json:"hop"`
	Server string `json:"server,omitempty"`
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Start is the time from the beginning of the call to the request, and Took the time from the
	// request to the response. Both are in nanoseconds.
	Start time.Duration `json:"start"`
	Took  time.Duration `json:"took,omitempty"`
	Error bool          `json:"error,omitempty"`
}

// A callDetail contains all messages of a call.
type callDetail struct {
	PID      int           `json:"pid"`
	Call     uint64        `json:"call"`
	Client   string        `json:"client,omitempty"`
	Servers  []string      `json:"servers"`
	Method   string        `json:"method,omitempty"`
	Name     string        `json:"name,omitempty"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took"` // time from the first to the last shown message
	Rounds   int           `json:"rounds"`
	Tokens   int           `json:"tokens,omitempty"`
	Error    bool          `json:"error,omitempty"` // set if the last response to the client is an error
	Spans    []span        `json:"spans"`
	Messages []detail      `json:"messages"`
	More     bool          `json:"more,omitempty"` // set if some messages are not shown
}

// wholeOf returns the complete message n.
func (r *Ring) wholeOf(n uint64) (d detail, known bool) {
	r.mu.Lock()
	one, known := r.found(n)
	r.mu.Unlock()
	if known {
		d = r.whole(&one)
	}
	return d, known
}

// whole reads the complete message of an index entry.
func (r *Ring) whole(one *found) detail {
	d := detail{summary: one.summary}
	s, kept, err := r.read(one.Seq, &one.entry)
	switch {
	case kept:
		d.stored, d.Tokens = s, d.tokens(s.Message)
		if d.Message == nil && d.Fault == "" && d.Size > 0 {
			d.Missing = "it was too large to be shown"
		}
	case err != nil:
		d.Missing = "it cannot be read: " + err.Error()
	default:
		d.Missing = "it was not kept"
	}
	return d
}

// tokens returns the approximate number of tokens of a result for the client's model. It returns 0
// for other messages.
func (s *summary) tokens(message json.RawMessage) int {
	switch s.Method {
	case "tools/call", "tools/list", "prompts/get", "resources/read":
		if s.Kind == traffic.Response && s.Hop == traffic.Client {
			result := string(jsonrpc.Get(message, "result"))
			if len(message) < s.Size { // the message was shortened
				return toolsearch.Tokens(result) * s.Size / max(1, len(message))
			}
			return toolsearch.Tokens(result)
		}
	}
	return 0
}

// wholeCall returns all messages of a call.
func (r *Ring) wholeCall(key callOf) (d callDetail, known bool) {
	r.mu.Lock()
	c := r.calls[key]
	if c == nil {
		r.mu.Unlock()
		return d, false
	}
	d = callDetail{Client: r.table.of(c.client).client, Servers: []string{}, Spans: []span{}, Messages: []detail{}}
	for _, n := range c.servers {
		d.Servers = append(d.Servers, r.table.of(n).server)
	}
	numbers := c.messages
	if d.More = len(numbers) > maxCallMessages; d.More {
		numbers = numbers[:maxCallMessages]
	}
	var all []found
	for _, n := range numbers {
		one, _ := r.found(n)
		all = append(all, one)
	}
	r.mu.Unlock()
	d.PID, d.Call, d.Began = all[0].PID, all[0].Call, all[0].Time
	bytes := 0
	for i := range all {
		one := detail{summary: all[i].summary, Missing: "the call has too much to show it here"}
		if bytes += int(all[i].entry.head + all[i].entry.body); bytes <= maxCallBytes {
			one = r.whole(&all[i])
		}
		d.add(&one)
	}
	return d, true
}

// add appends the next message of a call.
func (d *callDetail) add(one *detail) {
	d.Messages = append(d.Messages, *one)
	d.Took = max(d.Took, one.Time.Sub(d.Began))
	d.Tokens += one.Tokens
	switch one.Kind {
	case traffic.Request:
		d.Spans = append(d.Spans, span{Seq: one.Seq, Hop: one.Hop, Server: one.Server, Method: one.Method, Name: one.Name, Start: one.Time.Sub(d.Began)})
		if one.Hop == traffic.Client && one.ToServer {
			d.Rounds++
			if d.Method == "" {
				d.Method, d.Name = one.Method, one.Name
			}
		}
	case traffic.Response, traffic.Error, traffic.Failure:
		at := slices.IndexFunc(d.Spans, func(s span) bool {
			return s.Answer == 0 && s.Hop == one.Hop && s.Server == one.Server && s.Method == one.Method && s.Name == one.Name && one.Took > 0 &&
				d.Began.Add(s.Start).Sub(one.Time.Add(-one.Took)).Abs() <= clockSlack
		})
		if at >= 0 {
			d.Spans[at].Answer, d.Spans[at].Took, d.Spans[at].Error = one.Seq, one.Took, one.Error
		}
		if one.Hop == traffic.Client && !one.ToServer {
			d.Error = one.Error
		}
	}
}

const (
	maxLanes    = 60 // maximum number of lanes in a diagram; the last stands for all further ones
	maxLane     = 40 // maximum characters of a lane's name
	maxDrawnBox = 90 // maximum characters next to an arrow
)

// draw returns a diagram of the newest messages that a filter shows.
func (r *Ring) draw(f *filter) *sequence.Diagram {
	var all []summary
	for p := (page{More: true}); p.More && len(all) < maxDrawn; {
		p = r.list(f, p.Next, false, min(maxPage, maxDrawn-len(all)))
		all = append(all, p.Items...)
	}
	d := &sequence.Diagram{Title: "What clients, Junction and servers said", MaxLanes: maxLanes, Others: "others"}
	for _, s := range slices.Backward(all) {
		i := sequence.Item{At: s.Time, Title: plaintext.Line(caption(&s), maxDrawnBox), Failed: s.Error}
		i.From, i.To = endsOf(&s)
		if endsRequest(s.Kind) {
			i.Form = sequence.Reply
		}
		d.Items = append(d.Items, i)
	}
	return d
}

// endsOf returns the sender and the receiver of a message.
func endsOf(s *summary) (from, to sequence.Lane) {
	lane := func(rank int, name, role string) sequence.Lane {
		return sequence.Lane{Rank: rank, Name: plaintext.Line(name, maxLane), Role: role}
	}
	junction := lane(1, "junction "+strconv.Itoa(s.PID), "")
	other := junction
	switch {
	case s.Kind == traffic.Note:
	case s.Hop == traffic.Client:
		other = lane(0, cmp.Or(s.Client, "a client"), "client")
	case s.Hop == traffic.Server:
		other = lane(2, s.Server, "server")
	}
	if s.ToServer == (s.Hop == traffic.Client) {
		return other, junction
	}
	return junction, other
}

// caption returns the text next to the arrow of a message.
func caption(s *summary) string {
	var b strings.Builder
	if s.Call > 0 {
		fmt.Fprintf(&b, "#%d ", s.Call)
	}
	switch {
	case s.Legacy:
		b.WriteString("legacy server: ")
	case s.Kind == traffic.Dropped:
		return plaintext.Count(s.Count, "message") + " missed"
	case s.Kind == traffic.Note:
		b.WriteString(s.Note + ": ")
	case s.Kind == traffic.Error, s.Kind == traffic.Failure:
		b.WriteString(s.Kind + ": ")
	}
	b.WriteString(strings.TrimSpace(s.Method + " " + s.Name))
	if s.Took > 0 && s.Kind != traffic.Note {
		fmt.Fprintf(&b, " %v", s.Took.Round(max(s.Took/1000, 10*time.Microsecond)))
	}
	return b.String()
}
