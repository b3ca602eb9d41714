package live

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

// pingMethod is that of messages that say nothing but that a peer is there.
const pingMethod = "ping"

const maxFilterText = 1_000 // bytes of a text that is looked for

// A filter says which messages are shown.
type filter struct {
	client, server, method, name string
	kind                         string
	texts                        [][]byte // any of them, in lower case, is in the message
	errors, noHeaders, noPing    bool
	pid                          int32
	call                         uint64
}

// filterOf reads a filter of a query.
func filterOf(q url.Values) (f filter, err error) {
	word := func(name string) string { return beginning(q.Get(name)) } // as the index has it
	f = filter{client: strings.ToLower(word("client")), server: word("server"), method: word("method"), name: strings.ToLower(word("name")), kind: q.Get("kind")}
	if text := q.Get("errors"); text != "" {
		if f.errors, err = strconv.ParseBool(text); err != nil {
			return f, fmt.Errorf("errors: expected true or false, got %.40q", text)
		}
	}
	if text := q.Get("headers"); text != "" {
		headers, err := strconv.ParseBool(text)
		if err != nil {
			return f, fmt.Errorf("headers: expected true or false, got %.40q", text)
		}
		f.noHeaders = !headers
	}
	if text := q.Get("ping"); text != "" {
		pings, err := strconv.ParseBool(text)
		if err != nil {
			return f, fmt.Errorf("ping: expected true or false, got %.40q", text)
		}
		f.noPing = !pings
	}
	if f.kind != "" && kindOf(f.kind) == 0 {
		return f, fmt.Errorf("kind: expected one of %s, got %.40q", strings.Join(kinds[1:], ", "), f.kind)
	}
	pid, err := number(q, "pid", 31)
	if err != nil {
		return f, err
	}
	f.pid = int32(pid)
	if f.call, err = number(q, "call", 64); err != nil {
		return f, err
	}
	if text := q.Get("text"); text != "" {
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

// askedFor reads a filter and numbers of a query, 0 where there is none. Where they are none, that is answered.
func askedFor(w http.ResponseWriter, q url.Values, names ...string) (f filter, numbers map[string]uint64, ok bool) {
	f, err := filterOf(q)
	numbers = map[string]uint64{}
	for _, name := range names {
		if err == nil {
			numbers[name], err = number(q, name, 63)
		}
	}
	if err != nil {
		reply.Error(w, http.StatusBadRequest, err)
	}
	return f, numbers, err == nil
}

// number reads a number of a query; 0 where there is none.
func number(q url.Values, name string, bits int) (uint64, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s: expected a number, got %.40q", name, text)
	}
	return n, nil
}

// A chosen filter has looked at all texts of a Ring's table once.
type chosen struct {
	*filter
	clients, names     []bool // by textID; nil for all
	server, method     textID
	ping               textID // the method, where its messages are not shown
	noServer, noMethod bool   // no message has it
	kind               kind
}

// choose prepares a filter; r.mu is held.
func (r *Ring) choose(f *filter) chosen {
	c := chosen{filter: f, kind: kindOf(f.kind)}
	containing := func(part string) []bool {
		if part == "" {
			return nil
		}
		have := make([]bool, len(r.table.texts)+1)
		for i := range r.table.texts {
			have[i+1] = r.table.texts[i].uses > 0 && strings.Contains(strings.ToLower(r.table.texts[i].text), part)
		}
		return have
	}
	c.clients, c.names = containing(f.client), containing(f.name)
	if f.server != "" {
		c.server = r.table.numbers[f.server]
		c.noServer = c.server == 0
	}
	if f.noPing {
		c.ping = r.table.numbers[pingMethod]
	}
	if f.method != "" {
		c.method = r.table.numbers[f.method]
		c.noMethod = c.method == 0
	}
	return c
}

// shows reports whether a message is shown as far as the index tells; r.mu is held.
func (r *Ring) shows(c *chosen, e *entry) bool {
	switch {
	case c.pid != 0 && e.pid != c.pid, c.call != 0 && e.call != c.call, c.kind != 0 && e.kind != c.kind, c.noHeaders && e.headers, c.ping != 0 && e.method == c.ping && !e.failed:
		return false
	case kinds[e.kind] == traffic.Dropped:
		return true // what is missing may be what is looked for
	case c.errors && !e.failed, c.noServer, c.noMethod, c.method != 0 && e.method != c.method:
		return false
	case c.clients != nil && !c.clients[e.client], c.names != nil && !c.names[e.name]:
		return false
	}
	return c.server == 0 || e.server == c.server || e.server == 0 && r.leads(e, c.server)
}

// leads reports whether the call that a message of a client belongs to leads to a server.
func (r *Ring) leads(e *entry, server textID) bool {
	if c := r.calls[callOfProcess(e.pid, e.call)]; e.call > 0 && c != nil {
		for _, one := range c.servers {
			if one == server {
				return true
			}
		}
	}
	return false
}

// contains reports whether a record has the text that is looked for. scratch is used for that.
func (f *filter) contains(record []byte, scratch *[]byte) bool {
	*scratch = lower((*scratch)[:0], record)
	for _, text := range f.texts {
		if bytes.Contains(*scratch, text) {
			return true
		}
	}
	return false
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
