//go:build unix

package up_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A sink is a response that discards its body.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Flush() {}

// BenchmarkAuthenticatedCall measures a call of a tool without the cost of net/http: without
// authentication, and with each way of it. 64 calls are in flight on two cores. The metric
// cpu-ns/op is processor time, which other programs disturb less.
func BenchmarkAuthenticatedCall(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as so small a heap would be collected all the time
	const origin = "https://mcp.example"
	giver, token := benchmarkGiver(b, origin+launch.EndpointPath)
	few, fewKey := benchmarkKeys(b, 10)
	many, manyKey := benchmarkKeys(b, 10_000)
	signed := auth.JWT(auth.JWTOptions{Issuer: giver.URL, Keys: giver.URL + "/keys", HTTP: giver.Client()})
	asked := auth.Introspection(auth.IntrospectionOptions{Issuer: giver.URL, URL: giver.URL + "/introspect", ClientID: "c", Secret: "s", HTTP: giver.Client()})
	for _, c := range []struct {
		name, secret string
		access       *up.Access // is nil if every client is let in
	}{
		{"anybody", "", nil},
		{"token checked by signature", token, &up.Access{Verifier: signed}},
		{"token asked about", rand.Text() + rand.Text(), &up.Access{Verifier: asked}},
		{"one of 10 keys", fewKey, &up.Access{Keys: few.PrincipalAt}},
		{"one of 10000 keys", manyKey, &up.Access{Keys: many.PrincipalAt}},
		{"token where keys are taken too", token, &up.Access{Verifier: signed, Keys: few.PrincipalAt}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var o streamable.Options
			if c.access != nil {
				c.access.Origins, c.access.Issuers, c.access.Needs = []string{origin}, []string{giver.URL}, []string{"tools:read"}
				c.access.Guards = map[string]*auth.Guard{}
				o.Principal, o.Challenge = c.access.At(launch.EndpointPath)
			}
			benchmarkCall(b, c.secret, o)
		})
	}
}

// benchmarkGiver starts an authorization server. It returns the server and a token with about as
// many claims as those of large providers.
func benchmarkGiver(b *testing.B, resource string) (*httptest.Server, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	giver := httptest.NewServer(mux)
	b.Cleanup(giver.Close)
	claims := map[string]any{
		"iss": giver.URL, "sub": "provider|65f0c1d2a3b4c5d6e7f80912", "client_id": "b7c1f0e2-4a53-4f0e-9d2b-1f6a3c8e5d47", "aud": []string{resource},
		"scope": "openid profile email tools:read tools:write", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"jti": rand.Text(), "sid": rand.Text() + rand.Text(), "groups": []string{"engineering", "on-call", "platform"}, "email": "ada.lovelace@analytical.example",
	}
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("/introspect", func(w http.ResponseWriter, _ *http.Request) {
		said := maps.Clone(claims)
		said["active"] = true
		_ = json.NewEncoder(w).Encode(said)
	})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		b.Fatal(err)
	}
	object, err := signer.Sign(text)
	if err != nil {
		b.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		b.Fatal(err)
	}
	return giver, token
}

// benchmarkKeys writes a file of n keys, and returns the last key.
func benchmarkKeys(b *testing.B, n int) (*apikey.Keys, string) {
	all := make([]apikey.Key, n-1)
	for i := range all {
		all[i] = apikey.Key{ID: fmt.Sprintf("%08d", i), User: "somebody", Created: time.Now(), Hash: strings.Repeat("0", 64)}
	}
	path := filepath.Join(b.TempDir(), "keys.json")
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	keys, err := apikey.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := keys.Create(b.Context(), "ada", []string{"tools:read"}, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	return keys, key
}

func benchmarkCall(b *testing.B, secret string, o streamable.Options) {
	s := mcp.NewServer("bench", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "echo"}, func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	endpoint := streamable.HandlerWith(s, o)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	b.ReportAllocs()
	b.SetParallelism(32) // times two cores
	before := processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		body := strings.NewReader(call)
		r.Body, r.ContentLength = io.NopCloser(body), int64(len(call))
		w := &sink{header: http.Header{}}
		for pb.Next() {
			body.Reset(call)
			clear(w.header)
			endpoint.ServeHTTP(w, r)
			if w.status != http.StatusOK {
				b.Error("status", w.status)
				return
			}
		}
	})
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processorTime returns the processor time that this process used, on all cores.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
