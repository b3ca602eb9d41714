package live

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

// pingMethod is that of messages that say nothing but that a peer is there.
const pingMethod = "ping"

const maxFilterText = 1_000 // bytes of a text that is looked for

// The parameters of a query say which messages are shown. The tags are those of [fields.Params].
type parameters struct {
	Client  string `doc:"calls of clients whose name and version, such as 'claude/1.0', contain this, and what is asked of servers for them"`
	Server  string `doc:"what goes to and comes from the server of exactly this name, and the calls of clients that lead there"`
	Method  string `doc:"messages of exactly this method"`
	Kind    string `enum:"request,notification,response,error,failure,dropped,note" doc:"messages of this kind, or of several, with commas"`
	Name    string `doc:"messages about a tool, prompt or URI that contains this"`
	Text    string `doc:"messages that contain this, up to 1,000 bytes"`
	Errors  bool   `doc:"with 'true': errors, results with 'isError', and requests without a response"`
	PID     int32  `doc:"messages of this process"`
	Call    uint64 `doc:"messages of this call, of the process in 'pid'"`
	Ping    bool   `doc:"with 'false': all but 'ping' and its answers; one that fails is shown"`
	Headers bool   `doc:"with 'false': all but notes of HTTP headers"`
}

var filters = fields.ParamsOf[parameters]()

// A filter says which messages are shown.
type filter struct {
	client, server, method, name string
	kinds                        uint16   // bit n: kind n is shown; 0: all are
	texts                        [][]byte // any of them, in lower case, is in the message
	errors, noHeaders, noPing    bool
	pid                          int32
	call                         uint64
}

// filterOf reads a filter of a query.
func filterOf(q url.Values) (f filter, err error) {
	p := parameters{Ping: true, Headers: true}
	if err := filters.Query(&p, q); err != nil {
		return f, err
	}
	f = filter{client: strings.ToLower(beginning(p.Client)), server: beginning(p.Server), method: beginning(p.Method), name: strings.ToLower(beginning(p.Name)), // as the index has them
		errors: p.Errors, noHeaders: !p.Headers, noPing: !p.Ping, pid: p.PID, call: p.Call}
	for name := range strings.SplitSeq(p.Kind, ",") {
		if kind := kindOf(name); kind > 0 {
			f.kinds |= 1 << kind
		}
	}
	if text := p.Text; text != "" {
		if len(text) > maxFilterText {
			return f, fmt.Errorf("text: expected at most %d bytes, got %d", maxFilterText, len(text))
		}
		plain := lower(nil, []byte(text))
		f.texts = [][]byte{plain}
		if quoted := jsonrpc.AppendString(nil, string(plain)); len(quoted) > len(plain)+2 { // as a message has it
			f.texts = append(f.texts, quoted[1:len(quoted)-1])
		}
	}
	return f, nil
}

// askedFor reads a filter and numbers of a query, 0 where there is none.
func askedFor(q url.Values, names ...string) (f filter, numbers map[string]uint64, err error) {
	f, err = filterOf(q)
	numbers = map[string]uint64{}
	for _, name := range names {
		if text := q.Get(name); text != "" && err == nil {
			if numbers[name], err = strconv.ParseUint(text, 10, 63); err != nil {
				err = fmt.Errorf("%s: expected a number, got %.40q", name, text)
			}
		}
	}
	if err != nil {
		err = reply.Refuse(http.StatusBadRequest, "%v", err)
	}
	return f, numbers, err
}

// A fit is whether a filter shows messages with certain texts.
type fit int8

const (
	fitsNot   fit = iota
	fitsCalls     // those whose call leads to the server
	fits
)

func (f *filter) fit(t *texts) fit {
	switch {
	case f.method != "" && t.method != f.method, !strings.Contains(strings.ToLower(t.client), f.client), !strings.Contains(strings.ToLower(t.name), f.name):
		return fitsNot
	case f.server == "" || t.server == f.server:
		return fits
	case t.server == "":
		return fitsCalls
	}
	return fitsNot
}

// shows reports whether a message is shown as far as the index tells. It looks at texts once for each number of asking; r.mu is held.
func (r *Ring) shows(f *filter, e *entry, asking uint64) bool {
	switch {
	case f.pid != 0 && e.pid != f.pid, f.call != 0 && e.call != f.call, f.kinds != 0 && f.kinds>>e.kind&1 == 0, f.noHeaders && e.headers, f.noPing && e.ping:
		return false
	case kinds[e.kind] == traffic.Dropped:
		return true // what is missing may be what is looked for
	case f.errors && !e.failed:
		return false
	}
	c := &r.table.all[e.texts]
	if c.asking != asking {
		c.asking, c.fits = asking, f.fit(&c.texts)
	}
	if c.fits == fitsCalls && e.call > 0 {
		of := r.calls[callOfProcess(e.pid, e.call)]
		return of != nil && r.leads(of, f.server)
	}
	return c.fits == fits
}

// contains reports whether a record has the text that is looked for. scratch is used for that.
func (f *filter) contains(record []byte, scratch *[]byte) bool {
	*scratch = lower((*scratch)[:0], record)
	return slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.Contains(*scratch, text) })
}

// lower appends a text to dst, with small letters in place of those A to Z.
func lower(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[at:] {
		if 'A' <= c && c <= 'Z' {
			dst[at+i] = c + ('a' - 'A')
		}
	}
	return dst
}
