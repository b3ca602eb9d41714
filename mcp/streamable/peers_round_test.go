package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
	streams "github.com/junction-mcp/junction/mcp/stream"
)

// bridgeTo returns a Handler that passes requests on to a legacy session with a server.
func bridgeTo(t *testing.T, s *site) mcp.Handler {
	c, err := mcp.DialWith(t.Context(), Client(s.url), mcp.ClientOptions{Revision: "2025-11-25", Bridge: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// modernClient connects a client that answers with a name.
func modernClient(t *testing.T, url, name string) *mcp.Client {
	c, err := mcp.DialWith(t.Context(), Client(url), mcp.ClientOptions{Revision: "2026-07-28", OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: fmt.Appendf(nil, `{"name":%q}`, name)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestRoundsReachTheReplicaOfTheirCall has modern clients of a legacy server come back at another replica than the one where the
// call waits.
func TestRoundsReachTheReplicaOfTheirCall(t *testing.T) {
	f := newFixture(t)
	server := newSite(t, f.Server, Options{})
	_, balanced := newPeered(t, 3, func(int) mcp.Handler { return bridgeTo(t, server) })
	var running sync.WaitGroup
	for i := range 6 {
		c := modernClient(t, balanced.url, fmt.Sprint(i))
		running.Go(func() {
			for range 20 {
				if r, err := c.CallTool(t.Context(), "ask", struct{}{}); err != nil || r.Text() != fmt.Sprint(i) {
					t.Errorf("client %d: %v, %v", i, r, err)
					return
				}
			}
		})
	}
	running.Wait()
}

// TestRoundsReachTheProgramThatAsked has a program at each replica, whose state the others cannot read.
func TestRoundsReachTheProgramThatAsked(t *testing.T) {
	all, balanced := newPeered(t, 3, func(int) mcp.Handler {
		c, err := mcp.DialWith(t.Context(), streams.Pipe(newFixture(t).Server), mcp.ClientOptions{Revision: "2026-07-28", Bridge: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	})
	c := modernClient(t, balanced.url, "ann")
	for range 20 {
		if r, err := c.CallTool(t.Context(), "ask", struct{}{}); err != nil || r.Text() != "ann" {
			t.Fatalf("%v, %v", r, err)
		}
	}
	for _, s := range all {
		if u := s.endpoint.Usage(); u.Parked != 0 {
			t.Errorf("%+v", u)
		}
	}
}

// TestARoundWithoutItsReplicaIsOver ends the replica where a call waits while another peer never answers.
func TestARoundWithoutItsReplicaIsOver(t *testing.T) {
	f := newFixture(t)
	server := newSite(t, f.Server, Options{})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{"http://127.0.0.1:1/mcp"} }
	there := newSite(t, bridgeTo(t, server), o)
	o.Peers = func() []string { return []string{"http://127.0.0.1:1/mcp", "http://" + silent.Addr().String()} } // there is gone
	here := newSite(t, bridgeTo(t, server), o)
	next := firstRound(there, "ask")
	began := time.Now()
	resp := here.round("ask", next)
	if body := here.read(resp); !strings.Contains(body, "its call is over") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if took := time.Since(began); took > 2*peerTime {
		t.Errorf("it took %v", took)
	}
}

// TestAPassedOnRoundGoesNoFurther sends a round that claims to come from a peer to a replica that does not have it.
func TestAPassedOnRoundGoesNoFurther(t *testing.T) {
	f := newFixture(t)
	server := newSite(t, f.Server, Options{})
	all, _ := newPeered(t, 2, func(int) mcp.Handler { return bridgeTo(t, server) })
	next := firstRound(all[0], "ask")
	body := roundBody("ask", next)
	r, _ := http.NewRequest("POST", all[1].url, nil)
	for name, value := range map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "ask"} {
		r.Header.Set(name, value)
	}
	if err := passed.Seal(all[1].endpoint.sharing.ring, r, []byte(body), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	resp := all[1].round("ask", next, passed.Header, r.Header.Get(passed.Header))
	if body := all[1].read(resp); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	last := all[1].read(all[1].round("ask", next))
	if !strings.Contains(last, "ann") {
		t.Error(last)
	}
}

// TestARoundPassesAReplicaThatCannotServe has a peer that refuses all requests at once, such as while it starts.
func TestARoundPassesAReplicaThatCannotServe(t *testing.T) {
	f := newFixture(t)
	server := newSite(t, f.Server, Options{})
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusNotFound, http.StatusUnauthorized} {
		refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", status) }))
		defer refusing.Close()
		var there *site
		o := sharedOptions(oneKey)
		o.Peers = func() []string { return []string{refusing.URL + "/mcp"} }
		there = newSite(t, bridgeTo(t, server), o)
		o.Peers = func() []string { return []string{refusing.URL + "/mcp", there.url} }
		here := newSite(t, bridgeTo(t, server), o)
		lost := 0
		for range 10 {
			resp := here.round("ask", firstRound(there, "ask"))
			if body := here.read(resp); !strings.Contains(body, "ann") {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d: %d of 10 rounds are lost", status, lost)
		}
	}
}

// TestSettleWaitsForRounds shuts a replica down while a call waits there for its client.
func TestSettleWaitsForRounds(t *testing.T) {
	f := newFixture(t)
	server := newSite(t, f.Server, Options{})
	all, _ := newPeered(t, 2, func(int) mcp.Handler { return bridgeTo(t, server) })
	next := firstRound(all[0], "ask")
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := all[0].endpoint.Settle(soon); err == nil {
		t.Error("it does not wait for the round")
	}
	settled := make(chan error, 1)
	go func() { settled <- all[0].endpoint.Settle(t.Context()) }()
	if last := all[1].read(all[1].round("ask", next)); !strings.Contains(last, "ann") {
		t.Error(last)
	}
	if err := <-settled; err != nil {
		t.Error(err)
	}
}

// firstRound sends the first round of the call of a tool, and returns the parameters of the next one.
func firstRound(s *site, tool string) string {
	var first struct {
		Result struct {
			RequestState  string                     `json:"requestState"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	body := s.read(s.round(tool, ""))
	if err := json.Unmarshal([]byte(body), &first); err != nil || len(first.Result.InputRequests) != 1 {
		s.t.Fatalf("%v: %s", err, body)
	}
	for key := range first.Result.InputRequests {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"ann"}}}`, first.Result.RequestState, key)
	}
	return ""
}

// round sends a round of the call of a tool.
func (s *site) round(tool, more string, header ...string) *http.Response {
	return s.do("POST", roundBody(tool, more), append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, header...)...)
}

func roundBody(tool, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`, tool, more)
}

// TestOnlyPeersPassOn sends requests with the header of a peer that no peer made. They are refused, and reach no other replica.
func TestOnlyPeersPassOn(t *testing.T) {
	f := newFixture(t)
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{other.URL} }
	here := newSite(t, f.Server, o)
	session := []string{"Mcp-Session-Id", here.handshake("2025-11-25"), "MCP-Protocol-Version", "2025-11-25"}
	sealed := func(key []byte, method, body string) string {
		ring, _ := seal.NewRing(key)
		r, _ := http.NewRequest(method, here.url, nil)
		r.Header.Set(session[0], session[1])
		r.Header.Set(session[2], session[3])
		if err := passed.Seal(ring, r, []byte(body), nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		return r.Header.Get(passed.Header)
	}
	ping, late := `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":99,"result":{}}`
	for name, test := range map[string]struct {
		method, body, header string
		want                 int
	}{
		"the old header":      {"POST", ping, "1", http.StatusForbidden},
		"another key":         {"POST", ping, sealed(otherKey, "POST", ping), http.StatusForbidden},
		"another body":        {"POST", ping, sealed(oneKey, "POST", late), http.StatusForbidden},
		"another method":      {"GET", "", sealed(oneKey, "DELETE", ""), http.StatusForbidden},
		"the end of a stream": {"GET", "", sealed(oneKey, "GET", "other"), http.StatusForbidden},
		"a peer":              {"POST", ping, sealed(oneKey, "POST", ping), http.StatusOK},
		"a response, a peer":  {"POST", late, sealed(oneKey, "POST", late), http.StatusBadRequest},
	} {
		resp := here.do(test.method, test.body, append(slices.Clone(session), passed.Header, test.header)...)
		if body := here.read(resp); resp.StatusCode != test.want {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were passed on", n)
	}
}
