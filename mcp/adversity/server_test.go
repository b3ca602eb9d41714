package adversity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// A message is one JSON-RPC message as a scripted server reads it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Level     string          `json:"level"`
		RequestID json.RawMessage `json:"requestId"`
		Arguments struct {
			Client, Call int
			Do           string // what the server is to do in this call
		} `json:"arguments"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
		Meta           struct {
			Revision      string          `json:"io.modelcontextprotocol/protocolVersion"`
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// A script makes a server misbehave: it replaces some of the server's fields.
type script func(s *server)

// A server is a scripted MCP server of one revision. Without a script it behaves.
// Its state on disk outlives it, so that a process that is started again knows
// what happened before.
type server struct {
	revision string
	dir      string

	tools    func() string            // the entries of tools/list
	tool     func(c *call)            // answers tools/call
	on       map[string]func(c *call) // answers other methods
	joined   func(s *session)         // a connection exists; nothing was read from it
	begun    func(s *session)         // the client sent notifications/initialized
	gaveUp   func(id string)          // the client cancelled a call that it had made
	unknown  string                   // HTTP: the status for a session that does not exist; "404" or "400"
	inChild  bool                     // the server is a process of its own
	outlives bool                     // lines only: the server goes on when its input ended

	mu       sync.Mutex
	sessions map[string]*session
	listens  map[*call]chan string // open subscriptions of modern clients
	open     atomic.Int64          // calls of tools that are being answered
	asked    atomic.Int64          // requests of the server
}

const modern = "2026-07-28"

func newServer(revision, dir string, script script) *server {
	s := &server{revision: revision, dir: dir, unknown: "404", on: map[string]func(*call){},
		sessions: map[string]*session{}, listens: map[*call]chan string{}}
	s.tools = func() string {
		return tool("ask") + "," + tool("plain") + "," + tool("repeatable", `"annotations":{"idempotentHint":true}`)
	}
	s.tool = func(c *call) { c.respond("") }
	if script != nil {
		script(s)
	}
	return s
}

// tool is the entry of a tool in a list; more are further members.
func tool(name string, more ...string) string {
	entry := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}`, name)
	for _, member := range more {
		entry += "," + member
	}
	return entry + "}"
}

// name is an id that no other request of the server has.
func (c *call) name(i int) string { return fmt.Sprintf(`"%s %d"`, c.whose(), i) }

// record notes that something happened, for count.
func (s *server) record(what string) {
	f, err := os.CreateTemp(s.dir, what+".*")
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) { // the scenario is over, and its folder gone
		panic(err)
	}
}

// first reports whether this is the first time that it is asked about what, in
// this process or one before.
func (s *server) first(what string) bool {
	return os.Mkdir(filepath.Join(s.dir, "first "+what), 0o700) == nil
}

// count says how often record noted what.
func count(t *testing.T, dir, what string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, what+".*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A session is one connection, or one session on HTTP.
type session struct {
	*server
	id   string
	push func(raw string) // sends outside of any call
	ctx  context.Context
	kill context.CancelFunc // ends the connection and all its calls

	deaf atomic.Bool // it reads no more

	mu      sync.Mutex
	waiting map[string]chan message // for responses to the server's requests
	running map[string]func()       // cancels a call
	called  map[string]bool         // the calls that were made, by id, and not cancelled by a message
}

func (s *server) newSession(id string, push func(string)) *session {
	sess := &session{server: s, id: id, push: push, waiting: map[string]chan message{}, running: map[string]func(){}, called: map[string]bool{}}
	sess.ctx, sess.kill = context.WithCancel(context.Background())
	s.mu.Lock()
	s.sessions[id] = sess
	s.mu.Unlock()
	return sess
}

// restart ends everything that the server knows, as the end of its process does.
func (s *server) restart() {
	if s.inChild {
		os.Exit(3)
	}
	s.mu.Lock()
	sessions := maps.Clone(s.sessions)
	clear(s.sessions)
	s.mu.Unlock()
	for _, sess := range sessions {
		sess.kill()
	}
}

// take handles what a client sent; it returns when a request was answered.
func (s *session) take(m *message, c *call) {
	switch {
	case m.Method == "":
		s.mu.Lock()
		waiting := s.waiting[string(m.ID)]
		delete(s.waiting, string(m.ID))
		s.mu.Unlock()
		if waiting != nil {
			waiting <- *m
		}
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		called := s.called[string(m.Params.RequestID)]
		delete(s.called, string(m.Params.RequestID))
		s.mu.Unlock()
		if called && s.gaveUp != nil {
			s.gaveUp(string(m.Params.RequestID))
		}
		s.cancelled(m.Params.RequestID)
	case m.Method == "notifications/initialized" && s.begun != nil:
		s.begun(s)
	case m.ID != nil:
		s.serve(m, c)
	}
}

func (s *session) serve(m *message, c *call) {
	if m.Method == "tools/call" {
		s.open.Add(1)
		defer s.open.Add(-1)
	}
	if c.session == nil {
		s.register(m, c)
	}
	defer c.cancel()
	defer func() {
		s.mu.Lock()
		delete(s.running, string(m.ID))
		s.mu.Unlock()
	}()
	c.handle()
}

// register makes the request known to cancellations.
func (s *session) register(m *message, c *call) {
	c.session, c.message = s, m
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[string(m.ID)] = c.cancel
	s.called[string(m.ID)] = m.Method == "tools/call"
}

// A call is one request of a client.
type call struct {
	*session
	*message
	ctx    context.Context // ends when the client gives the call up or the session ends
	cancel func()
	header http.Header      // of the request, on HTTP
	write  func(raw string) // sends on the call's own channel, where the transport has one
	cut    func()           // ends the call's channel, where it has one, else the connection
	deafen func()           // lines only: stops reading
}

const capabilities = `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}`

func (c *call) handle() {
	if f := c.on[c.Method]; f != nil {
		f(c)
		return
	}
	c.behave()
}

// behave answers as an ordinary server does.
func (c *call) behave() {
	isModern := c.revision == modern
	switch c.Method {
	case "server/discover":
		if !isModern {
			c.fail(-32601, "Method not found")
			return
		}
		c.reply(fmt.Sprintf(`"supportedVersions":[%q],%s,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"adversary","version":"1"}}`, modern, capabilities))
	case "initialize":
		if isModern {
			c.fail(-32601, "Method not found")
			return
		}
		c.record("initialize")
		c.reply(fmt.Sprintf(`"protocolVersion":%q,%s,"serverInfo":{"name":"adversary","version":"1"}`, c.revision, capabilities))
	case "subscriptions/listen":
		if !isModern {
			c.fail(-32601, "Method not found")
			return
		}
		c.listen()
	case "tools/list":
		c.reply(`"tools":[` + c.tools() + `]` + c.hints())
	case "resources/list":
		c.reply(`"resources":[]` + c.hints())
	case "resources/templates/list":
		c.reply(`"resourceTemplates":[]` + c.hints())
	case "tools/call":
		c.tool(c)
	case "logging/setLevel":
		c.record("level " + c.Params.Level)
		c.reply("")
	case "resources/subscribe":
		c.record("subscribe")
		c.reply("")
	default:
		c.reply("")
	}
}

func (c *call) hints() string {
	if c.revision == modern {
		return `,"ttlMs":0,"cacheScope":"private"`
	}
	return ""
}

// listen is a modern subscription: acknowledged, and then open.
func (c *call) listen() {
	c.record("subscribe")
	changes := make(chan string, 10)
	c.server.mu.Lock()
	c.listens[c] = changes
	c.server.mu.Unlock()
	defer func() {
		c.server.mu.Lock()
		delete(c.listens, c)
		c.server.mu.Unlock()
	}()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://watched"]},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, c.ID))
	for {
		select {
		case method := <-changes:
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"uri":"test://watched","_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, method, c.ID))
		case <-c.ctx.Done():
			return
		}
	}
}

// announce tells everybody of a change.
func (s *server) announce(method string) {
	s.mu.Lock()
	sessions, listens := maps.Clone(s.sessions), maps.Clone(s.listens)
	s.mu.Unlock()
	for _, changes := range listens {
		select {
		case changes <- method:
		default:
		}
	}
	for _, sess := range sessions {
		if s.revision != modern {
			sess.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"uri":"test://watched"}}`, method))
		}
	}
}

// send sends outside of any call.
func (s *session) send(raw string) {
	s.mu.Lock()
	push := s.push
	s.mu.Unlock()
	push(raw)
}

// reply answers with a result of these members.
func (c *call) reply(members string) {
	if c.revision == modern {
		if members != "" {
			members = "," + members
		}
		members = `"resultType":"complete"` + members
	}
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`, c.ID, members))
}

func (c *call) fail(code int, text string) {
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, c.ID, code, text))
}

// whose names the call in everything that is sent because of it.
func (c *call) whose() string {
	return fmt.Sprintf("client %d call %d", c.Params.Arguments.Client, c.Params.Arguments.Call)
}

// text is the result of the call: its name, and what else there is to say.
func (c *call) text(more string) string {
	return fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, c.whose()+more)
}

func (c *call) respond(more string) { c.reply(c.text(more)) }

func (c *call) log() {
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"about %s"}}`, c.whose()))
}
