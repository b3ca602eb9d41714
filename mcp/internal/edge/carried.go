package edge

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// Limits of the parts of a session that its id carries, in bytes.
const (
	maxCarriedName    = 128 // of the client's name, of its title, and of its version
	maxCarriedUnknown = 512 // of experimental capabilities and extensions together
	maxCarriedMark    = 64
)

// errCarried is returned for data that AppendCarried did not write.
var errCarried = errors.New("it is not the data of a session")

// Seal returns the ring that seals what clients carry.
func (e *Edge) Seal() *seal.Ring { return e.seal }

// carriedLists are the capabilities of the server that a session needs, one bit each.
var carriedLists = []func(c *mcp.ServerCapabilities) *bool{
	func(c *mcp.ServerCapabilities) *bool { return &listOf(&c.Tools).ListChanged },
	func(c *mcp.ServerCapabilities) *bool { return &listOf(&c.Prompts).ListChanged },
	func(c *mcp.ServerCapabilities) *bool { return &listOf(&c.Resources).ListChanged },
	func(c *mcp.ServerCapabilities) *bool { return &listOf(&c.Resources).Subscribe },
}

// carriedTasks is the bit of [Session.AppendCarried] for the tasks of the server.
const carriedTasks = 1 << 7

// listOf returns the capability that at points to, and declares it first if it is not.
func listOf[T any](at **T) *T {
	if *at == nil {
		*at = new(T)
	}
	return *at
}

// AppendCarried appends what any replica needs to make the session again with [Edge.Recall]:
// revision, mark, capabilities of both sides, and the client's name, title and version. It omits
// experimental capabilities and extensions that are too large. The log level and the subscriptions
// of the session are not part of it. The result has at most 2 KiB.
func (s *Session) AppendCarried(dst []byte) []byte {
	has, bits := s.has, byte(0)
	for i, of := range carriedLists {
		if *of(&has) {
			bits |= 1 << i
		}
	}
	if s.hasTasks() {
		bits |= carriedTasks
	}
	mark := s.mark
	if len(mark) > maxCarriedMark {
		mark = "" // then its first stream begins with all changes
	}
	dst = append(dst, bits)
	dst = appendField(dst, []byte(s.revision.Name))
	dst = appendField(dst, []byte(mark))
	dst = appendField(dst, carriedClient(s.meta.Client))
	return appendField(dst, carriedCapabilities(s.meta.Capabilities))
}

func appendField(dst, field []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}

// carriedClient returns a client's description, or nil if there is none.
func carriedClient(client *mcp.Implementation) []byte {
	if client == nil {
		return nil
	}
	text, _ := json.Marshal(mcp.Implementation{Name: shortened(client.Name), Title: shortened(client.Title), Version: shortened(client.Version)}) // cannot fail
	return text
}

// shortened returns the beginning of a text, of at most maxCarriedName bytes of JSON.
func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for {
		encoded, _ := json.Marshal(text) // cannot fail
		over := len(encoded) - len(`""`) - maxCarriedName
		if over <= 0 {
			return text
		}
		cut := min(len(text)-(over+5)/6, maxCarriedName) // one byte of text has at most 6 of JSON
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
}

// carriedCapabilities returns a client's capabilities, without those of unknown size that are too
// large.
func carriedCapabilities(c *mcp.ClientCapabilities) []byte {
	known := *c
	known.Experimental, known.Extensions = nil, nil
	short, _ := json.Marshal(&known) // cannot fail
	whole, err := json.Marshal(c)
	if err != nil || len(whole)-len(short) > maxCarriedUnknown {
		return short
	}
	return whole
}

// Recall returns the session that [Session.AppendCarried] described, for a client that from.Key
// identifies in requests. The ids of its requests to the client begin with own, which no session of
// another replica has. The caller must close it.
func (e *Edge) Recall(ctx context.Context, carried []byte, from From, own string) (*Session, error) {
	if len(carried) == 0 {
		return nil, errCarried
	}
	s := &Session{edge: e, level: defaultLevel, key: from.Key}
	s.requests.own = own
	for i, of := range carriedLists {
		if carried[0]&(1<<i) != 0 {
			*of(&s.has) = true
		}
	}
	if carried[0]&carriedTasks != 0 {
		s.has.Extensions = map[string]json.RawMessage{revision.TasksExtension: json.RawMessage(`{}`)}
	}
	var fields [4][]byte
	rest := carried[1:]
	for i := range fields {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return nil, errCarried
		}
		fields[i], rest = rest[n:n+int(size)], rest[n+int(size):]
	}
	name, mark, client, capabilities := fields[0], fields[1], fields[2], fields[3]
	if s.revision = revision.Lookup(string(name)); s.revision == nil || s.revision.Modern || len(rest) > 0 {
		return nil, errCarried // or of a version of this program with another revision
	}
	s.meta.Revision, s.mark = s.revision.Name, string(mark)
	var err error
	if len(client) > 0 {
		if s.meta.Client, err = e.info.decode(client); err != nil {
			return nil, errCarried
		}
	}
	if s.meta.Capabilities, err = e.capabilities.decode(capabilities); err != nil {
		return nil, errCarried
	}
	s.meta.Capabilities = task.Undeclare(s.meta.Capabilities)
	s.principal.Store(from.Principal)
	s.held.most, s.held.whole, s.held.caller = maxSessionHeld, e.sessions, share.Of(ctx)
	return s, nil
}

// Changes reports whether a request changes what a session has beyond the data that it carries, so
// that each replica should get it.
func Changes(method string) bool {
	return method == methodSetLevel || method == methodSubscribe || method == methodUnsubscribe
}

// client returns the value that identifies the client in requests.
func (s *Session) client() any {
	if s.key != nil {
		return s.key
	}
	return s
}

// Holds reports whether the session has anything that a session made by [Edge.Recall] lacks: a log
// level of the client, subscriptions, an open stream, requests to the client, results of calls that
// asked for a task, or values of the Handler.
func (s *Session) Holds() bool {
	s.mu.Lock()
	holds := s.level != defaultLevel || len(s.resources) > 0 || s.stream != nil
	s.mu.Unlock()
	if holds || s.values.Used() {
		return true
	}
	s.tasks.mu.Lock()
	holds = len(s.tasks.kept) > 0
	s.tasks.mu.Unlock()
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return holds || len(s.requests.waiting) > 0
}
