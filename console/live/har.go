package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/traffic"
)

// A harEntry is an entry of an HTTP Archive 1.2, with the fields that suit an MCP message.
type harEntry struct {
	Started  time.Time   `json:"startedDateTime"`
	Time     float64     `json:"time"` // in milliseconds
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Client   string      `json:"_client,omitempty"`
	Server   string      `json:"_server,omitempty"`
	Hop      string      `json:"_hop"`
	Call     uint64      `json:"_call,omitempty"`
	PID      int         `json:"_pid"`
	Seq      uint64      `json:"_seq"`
	Fault    string      `json:"_error,omitempty"`
}

type harRequest struct {
	Method   string    `json:"method"`
	URL      string    `json:"url"`
	Version  string    `json:"httpVersion"`
	Cookies  []harPair `json:"cookies"`
	Headers  []harPair `json:"headers"`
	Query    []harPair `json:"queryString"`
	Post     harBody   `json:"postData"`
	HeadSize int       `json:"headersSize"`
	BodySize int       `json:"bodySize"`
}

type harResponse struct {
	Status   int       `json:"status"`
	Text     string    `json:"statusText"`
	Version  string    `json:"httpVersion"`
	Cookies  []harPair `json:"cookies"`
	Headers  []harPair `json:"headers"`
	Content  harBody   `json:"content"`
	Redirect string    `json:"redirectURL"`
	HeadSize int       `json:"headersSize"`
	BodySize int       `json:"bodySize"`
}

type harPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// pairs returns a pair for each value, sorted by name.
func pairs(of map[string][]string) []harPair {
	all := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		for _, value := range of[name] {
			all = append(all, harPair{name, value})
		}
	}
	return all
}

type harBody struct {
	Size int    `json:"size"`
	Type string `json:"mimeType"`
	Text string `json:"text"`
}

type harTimings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// exportHAR writes an entry for each request and notification.
func (r *Ring) exportHAR(w http.ResponseWriter, f *filter) error {
	if _, err := fmt.Fprint(w, `{"log":{"version":"1.2","creator":{"name":"junction","version":"1"},"entries":[`); err != nil {
		return err
	}
	comma := ""
	err := r.each(w, f, func(s *summary) error {
		if s.Kind != traffic.Request && s.Kind != traffic.Notification {
			return nil
		}
		d, known := r.wholeOf(s.Seq)
		if !known {
			return nil
		}
		entry, err := json.Marshal(r.harEntry(&d))
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n%s", comma, entry)
		}
		comma = ","
		return err
	})
	if err == nil {
		_, err = fmt.Fprintln(w, "\n]}}")
	}
	return err
}

func (r *Ring) harEntry(d *detail) *harEntry {
	const mcp, http1, jsonType = "MCP", "HTTP/1.1", "application/json"
	at := url.URL{Scheme: "mcp", Host: "client", Path: "/" + d.Method}
	if d.Hop == traffic.Server {
		at.Host = url.PathEscape(d.Server)
	}
	if d.Name != "" {
		at.RawQuery = url.Values{"name": {d.Name}}.Encode()
	}
	none := []harPair{}
	e := &harEntry{Started: d.Time, Client: d.Client, Server: d.Server, Hop: d.Hop, Call: d.Call, PID: d.PID, Seq: d.Seq,
		Request:  harRequest{Method: "POST", URL: at.String(), Version: mcp, Cookies: none, Headers: none, Query: pairs(at.Query()), HeadSize: -1, BodySize: d.Size, Post: harBody{d.Size, jsonType, string(d.Message)}},
		Response: harResponse{Version: mcp, Cookies: none, Headers: none, HeadSize: -1, BodySize: -1, Content: harBody{Type: jsonType}}}
	if a, known := r.answerTo(&d.summary); known {
		e.Time = float64(a.Took) / float64(time.Millisecond)
		e.Timings.Wait, e.Fault = e.Time, a.Fault
		e.Response.BodySize, e.Response.Content.Size, e.Response.Content.Text = a.Size, a.Size, string(a.Message)
		if e.Response.Status, e.Response.Text = http.StatusOK, a.Kind; a.Kind == traffic.Failure {
			e.Response.Status = 0
		}
	}
	if x := r.headersOf(d); x != nil {
		e.Request.Version, e.Request.Method, e.Request.URL, e.Request.Headers = http1, x.Method, x.URL, pairs(x.RequestHeaders)
		if u, err := url.Parse(x.URL); err == nil {
			e.Request.Query = pairs(u.Query())
		}
		if x.Status != 0 {
			e.Response.Version, e.Response.Status, e.Response.Text, e.Response.Headers = http1, x.Status, http.StatusText(x.Status), pairs(x.ResponseHeaders)
		}
	}
	return e
}

// An exchange is the content of a note about HTTP headers. Status is 0 if there was no response.
type exchange struct {
	Method, URL                     string
	Status                          int
	RequestHeaders, ResponseHeaders map[string][]string
}

// headersOf returns the HTTP headers of a message and of its response. If the message was sent
// several times, they are from the last time. It returns nil if they are unknown.
func (r *Ring) headersOf(d *detail) (last *exchange) {
	for _, one := range r.headersAfter(&d.summary) {
		s, kept, err := r.read(one.Seq, &one.entry)
		if err != nil || !kept || !bytes.Equal(s.ID, d.ID) {
			continue
		}
		var x exchange
		if json.Unmarshal(s.Message, &x) == nil && (last == nil || x.Method == last.Method) {
			last = &x
		}
	}
	return last
}

// headersAfter returns the notes about headers that follow a message in its call, on the same hop.
func (r *Ring) headersAfter(s *summary) (notes []found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[callOfProcess(int32(s.PID), s.Call)]
	if s.Call == 0 || c == nil {
		return nil
	}
	for _, n := range c.after(s.Seq) {
		if e, t := r.of(n); e.headers && hops[e.hop] == s.Hop && t.server == s.Server {
			notes = append(notes, found{summary: summary{Seq: n}, entry: *e})
		}
	}
	return notes
}

// answerTo returns the response to a request.
func (r *Ring) answerTo(s *summary) (d detail, known bool) {
	if s.Kind != traffic.Request || s.Call == 0 {
		return d, false
	}
	r.mu.Lock()
	var answer found
	if c := r.calls[callOfProcess(int32(s.PID), s.Call)]; c != nil {
		for _, n := range c.after(s.Seq) {
			if e, t := r.of(n); e.took > 0 && hops[e.hop] == s.Hop && t.server == s.Server && t.method == s.Method &&
				time.Duration(e.time-e.took-s.Time.UnixNano()).Abs() <= clockSlack && kinds[e.kind] != traffic.Note {
				answer, known = r.found(n)
				break
			}
		}
	}
	r.mu.Unlock()
	if known {
		d = r.whole(&answer)
	}
	return d, known
}

const (
	maxDrawn      = 2_000 // maximum number of messages in a diagram, the newest ones
	maxAnswerAway = 1_000 // maximum number of messages of a call between a request and its response
	exportTime    = 30 * time.Second
)

func (r *Ring) serveExport(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, err := filterOf(q)
	if err != nil {
		reply.Error(w, http.StatusBadRequest, err)
		return
	}
	form, known := map[string]struct {
		contentType string
		write       func(http.ResponseWriter, *filter) error
	}{
		"jsonl":   {"application/jsonl", r.exportLines},
		"har":     {"application/json", r.exportHAR},
		"svg":     {"image/svg+xml", func(w http.ResponseWriter, f *filter) error { return r.draw(f).SVG(w) }},
		"mermaid": {"text/plain; charset=utf-8", func(w http.ResponseWriter, f *filter) error { return r.draw(f).Mermaid(w) }},
	}[q.Get("format")]
	if !known {
		reply.Error(w, http.StatusBadRequest, fmt.Errorf("format: expected jsonl, har, svg or mermaid, got %.40q", q.Get("format")))
		return
	}
	ending := q.Get("format")
	if ending == "mermaid" {
		ending = "mmd"
	}
	w.Header().Set("Content-Type", form.contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="traffic.`+ending+`"`)
	_ = form.write(w, &f) // fails if the reader has disconnected
}

// each calls do for all messages that a filter shows, from the oldest on.
func (r *Ring) each(w http.ResponseWriter, f *filter, do func(*summary) error) error {
	out := http.NewResponseController(w)
	for p := (page{More: true}); p.More; {
		p = r.list(f, p.Next, true, maxPage)
		_ = out.SetWriteDeadline(time.Now().Add(exportTime)) // if this fails, the timeout of the server applies
		for i := range p.Items {
			if err := do(&p.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Ring) exportLines(w http.ResponseWriter, f *filter) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return r.each(w, f, func(s *summary) error {
		d, known := r.wholeOf(s.Seq)
		if !known {
			return nil
		}
		return lines.Encode(&d)
	})
}
