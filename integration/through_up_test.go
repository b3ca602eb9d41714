package integration

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is seen into docs/bridge.md, with JUNCTION_INTEGRATION_MATRIX")

// A side is a revision over a transport, of a client or of a server.
type side struct{ revision, over string }

// meets reports whether a client and a server meet on each change: every client with every revision of servers over one of the transports, and every
// transport with every other.
func (s side) meets(server side) bool {
	sum := slices.Index(everyRevision, s.revision) + slices.Index(transports, s.over) + slices.Index(everyRevision, server.revision) + slices.Index(transports, server.over)
	http := side{modern, "http"} // stands in for HTTP+SSE, too
	return sum%3 == 0 || sum%3 == 2 && (s == http || server == http)
}

func (s side) String() string { return s.revision + " over " + s.over }

var transports = []string{"stdio", "http", "sse"}

// sides are every revision over each transport that it has; HTTP+SSE has no modern one.
func sides() (all []side) {
	for _, revision := range everyRevision {
		for _, over := range transports {
			if revision != modern || over != "sse" {
				all = append(all, side{revision, over})
			}
		}
	}
	return all
}

// clientOf is a client that speaks a revision: not the same for all.
var clientOf = map[string]string{"2024-11-05": "gosdk", "2025-03-26": "python", "2025-06-18": "python", "2025-11-25": "ts-v1", modern: "ts-v2"}

// serverOf is a server that speaks a revision. The Go SDK is none of the modern one: over stdio it sends nothing
// for a listen request once another one was cancelled.
func serverOf(revision string) string {
	if revision == modern {
		return "ts-v2"
	}
	return "gosdk"
}

// Clients of every revision over every transport meet servers of every revision over every transport, through a
// junction up in which another server makes as much noise as it can. What works, and what a revision has no form
// for, is what docs/bridge.md says. Clients over Streamable HTTP, whose requests may go to any replica, see the same
// of three.
func TestBridgeThroughUp(t *testing.T) {
	t.Parallel()
	junction(t)
	through(t, func(t *testing.T, d deployment) {
		seen := &meetings{cells: map[[2]side]map[string]string{}}
		t.Run("cells", func(t *testing.T) {
			for _, server := range sides() {
				t.Run("server "+server.String(), func(t *testing.T) {
					t.Parallel()
					bridgeThrough(t, d, server, seen)
				})
			}
		})
		if !t.Failed() && !d.hasReplicas() {
			seen.compare(t)
		}
	})
}

// bridgeThrough lets the clients meet one server.
func bridgeThrough(t *testing.T, d deployment, server side, seen *meetings) {
	settings, servers := noisyConfig(t, olderServer(t, server))
	var stdio []string // a client's command line
	origin := sync.OnceValue(func() string {
		origin, config := d.serve(t, settings, servers)
		if !d.hasReplicas() {
			env := isolated(t)
			for _, name := range []string{"quiet", "noisy"} { // remembered, so nothing changes when they start
				run(t, env, junction(t), "tools", name, "--config", config)
			}
			stdio = append(append([]string{"--stdio", program(t, "env")}, env[len(os.Environ()):]...), junction(t), "up", "--stdio", "--config", config)
		}
		return origin
	})
	for _, client := range sides() {
		switch {
		case d.hasReplicas() && client.over != "http":
			continue // a program starts its own gateway, and HTTP+SSE stays at one replica
		case !matrix() && !client.meets(server):
			seen.add(client, server, lowered(client, server)) // as the last night saw it
			continue
		}
		target := []string{"--http", origin() + "/mcp"}
		switch client.over {
		case "stdio":
			target = stdio
		case "sse":
			target = []string{"--sse", origin() + "/sse"}
		}
		switch {
		case server == (side{modern, "stdio"}): // a second after the client before cancelled a call, what names no call is nobody's
			time.Sleep(1100 * time.Millisecond)
		case d.hasReplicas(): // each reads changed lists once a second, and the client before waited for one replica
			time.Sleep(2 * time.Second)
		}
		t.Run("client "+client.String(), func(t *testing.T) {
			cannot := lowered(client, server)
			if d.hasReplicas() && server.over == "stdio" {
				cannot = together(cannot, ofOneProcess)
			}
			table := bridgeCases
			if d.hasReplicas() {
				table = casesOfReplicas()
			}
			runTable(t, table, willing, clientNamed(t, clientOf[client.revision]), target, client.revision, cannot)
			if !t.Failed() {
				seen.add(client, server, cannot)
			}
		})
	}
}

// ofOneProcess are the cases about what a server keeps between calls. Each replica has its own process of a
// program.
var ofOneProcess = map[string]string{
	"a change of the tools is reported":   "the process of one replica has it",
	"an update of a resource is reported": "the process of one replica has it",
	"a cancelled call ends at the server": "the process of one replica knows it",
}

// casesOfReplicas are bridgeCases in which a client lists changed tools when all replicas have read them.
func casesOfReplicas() []bridgeCase {
	all := slices.Clone(bridgeCases)
	i := slices.IndexFunc(all, func(c bridgeCase) bool { return c.name == "a change of the tools is reported" })
	all[i].steps = slices.Insert(slices.Clone(all[i].steps), 2, step{"op": "sleep", "ms": 2000})
	all[i].verify = func(t *testing.T, lines []line) {
		t.Helper()
		succeeded(t, lines)
		verifyChange(t, slices.Delete(slices.Clone(lines), 2, 3))
	}
	return all
}

// lowered are the cases that revisions, or the peers of this test, have no form for, with the reason.
func lowered(client, server side) map[string]string {
	era := "legacy"
	if server.revision == modern {
		era = "modern"
	}
	cannot := together(serverCannot(serverOf(server.revision), server.over, era), clientCannot(clientOf[client.revision], client.over, client.revision))
	if client.revision < "2025-06-18" || server.revision < "2025-06-18" {
		cannot = together(cannot, noElicitation)
	}
	if client.over != "stdio" {
		cannot["the roots of the client are reported"] = "a server that many clients share is given no roots"
	}
	return cannot
}

// olderServer is an entry of a configuration for a server that speaks a revision.
func olderServer(t *testing.T, s side) any {
	t.Helper()
	era := "legacy"
	if s.revision == modern {
		era = "modern"
	}
	if s.over == "sse" {
		era = "" // it has one
	}
	target := serverNamed(t, serverOf(s.revision)).target(t, s.over, era)
	if s.over == "stdio" {
		argv := target[1:]
		if s.revision != modern {
			argv = append([]string{python(t, "python"), absolute(t, "servers/older/server.py"), s.revision}, argv...)
		}
		return object{"command": argv[0], "args": argv[1:]}
	}
	entry := object{"url": target[1]}
	if s.over == "sse" {
		entry["type"] = "sse"
	}
	if s.revision != modern {
		entry["url"] = olderBehind(t, target[1], s.revision)
	}
	return entry
}

// olderBehind is a proxy of a server, which learns of a client of an older revision.
func olderBehind(t *testing.T, target, revision string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host})
		r.Out.Host = u.Host
		body, err := io.ReadAll(r.In.Body)
		var m struct {
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
			Rest   map[string]any `json:"-"`
		}
		if err == nil && json.Unmarshal(body, &m) == nil && m.Method == "initialize" {
			whole := map[string]any{}
			_ = json.Unmarshal(body, &whole) // as before
			m.Params["protocolVersion"] = revision
			whole["params"] = m.Params
			body, _ = json.Marshal(whole)
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + u.Path
}

// noisyConfig returns the settings and the servers of a configuration with a server, under its own names, and one
// that makes noise.
func noisyConfig(t *testing.T, entry any) (settings, servers object) {
	t.Helper()
	return object{"tools": "all", "servers": object{"quiet": object{"prefix": ""}, "noisy": object{"hide": []string{"*"}}}},
		object{"quiet": entry, "noisy": object{"command": python(t, "python"), "args": []string{absolute(t, "servers/faulty/server.py"), "noise"}, "start": "eager"}}
}

// meetings are what was seen to work.
type meetings struct {
	mu    sync.Mutex
	cells map[[2]side]map[string]string // client and server: cases that could not be, with the reason
}

func (m *meetings) add(client, server side, cannot map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[[2]side{client, server}] = cannot
}

const (
	seenBegin = "<!-- written by go test -run TestBridgeThroughUp -update, in the folder integration -->\n"
	seenEnd   = "<!-- end -->\n"
)

// compare compares what was seen with docs/bridge.md.
func (m *meetings) compare(t *testing.T) {
	t.Helper()
	path := filepath.Join("..", "docs", "bridge.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), seenBegin)
	_, after, also := strings.Cut(rest, seenEnd)
	if !found || !also {
		t.Fatalf("%s has no part to write", path)
	}
	if want := before + seenBegin + m.page() + seenEnd + after; want != string(page) {
		if *update && matrix() {
			err = os.WriteFile(path, []byte(want), 0o644)
		}
		t.Errorf("%s is not what was seen (%v); -update writes it:\n%s", path, err, m.page())
	}
}

// page is what was seen, as tables.
func (m *meetings) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe tests paired each of %d clients with each of %d servers through `junction up`. The clients use\n", len(sides()), len(sides()))
	b.WriteString("the official SDKs at every revision over stdio, Streamable HTTP and HTTP+SSE. The servers do the\n" +
		"same with the Go SDK, and for the modern revision with that of TypeScript. Another server sent\n")
	fmt.Fprintf(&b, "unrelated messages meanwhile. That makes %d pairs with %d cases each.\n", len(m.cells), len(bridgeCases))
	b.WriteString("\n| case | works | |\n|---|---|---|\n")
	for _, c := range bridgeCases {
		reasons := map[string][]string{}
		works := 0
		for pair, cannot := range m.cells {
			if why := cannot[c.name]; why != "" {
				reasons[why] = append(reasons[why], pair[0].revision+" "+pair[1].revision)
				continue
			}
			works++
		}
		var notes []string
		for why, pairs := range reasons {
			notes = append(notes, fmt.Sprintf("%s (%d)", why, len(pairs)))
		}
		slices.Sort(notes)
		fmt.Fprintf(&b, "| %s | %d of %d | %s |\n", c.name, works, len(m.cells), strings.Join(notes, "; "))
	}
	b.WriteString("\nCases that work, of all of a client's revision (down) with all of a server's (across):\n\n| |")
	for _, revision := range everyRevision {
		fmt.Fprintf(&b, " %s |", revision)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(everyRevision)) + "\n")
	for _, client := range everyRevision {
		fmt.Fprintf(&b, "| %s |", client)
		for _, server := range everyRevision {
			works, all := 0, 0
			for pair, cannot := range m.cells {
				if pair[0].revision == client && pair[1].revision == server {
					all += len(bridgeCases)
					works += len(bridgeCases) - len(cannot)
				}
			}
			fmt.Fprintf(&b, " %d of %d |", works, all)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}
