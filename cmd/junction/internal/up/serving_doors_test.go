package up_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}`

// openDoors serves a server and its profile "work" at an address.
func openDoors(t *testing.T, f up.Front, x *up.Access) *httptest.Server {
	t.Helper()
	s := mcp.NewServer("s", "1")
	d := &up.Doors{Front: f, Access: x, Open: map[string]up.EndpointHandler{}, Profile: func(name string) mcp.Handler {
		if name != "work" {
			return nil
		}
		return s
	}}
	d.NewNowhere()
	d.At(launch.EndpointPath, s)
	d.At(up.OlderPath, s)
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	t.Cleanup(d.Close)
	return server
}

// exchanged returns the response to a request with headers of the form "NAME: VALUE".
func exchanged(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp, "a stream"
	}
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

func TestPagesOfAnAllowedOrigin(t *testing.T) {
	const origin = "https://app.example"
	tokens := verifierOf(func(token string) (*auth.Token, error) { return nil, auth.ErrToken })
	guarded := &up.Access{Origins: []string{"http://127.0.0.1"}, Issuers: []string{"https://as.example"}, Verifier: tokens, Guards: map[string]*auth.Guard{}}
	keys := &up.Access{Keys: func(*http.Request, string) (*mcp.Principal, error) {
		return nil, streamable.Unauthorized("s", errors.New("no key"))
	}}
	post := []string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}
	for _, test := range []struct {
		name, method, path string
		access             *up.Access
		headers            []string
		status             int
	}{
		{"a message", "POST", "/mcp", nil, post, 200},
		{"a message to a profile", "POST", "/mcp/work", nil, post, 200},
		{"a message of a bad type", "POST", "/mcp", nil, nil, 415},
		{"a session that is not there", "DELETE", "/mcp", nil, []string{"Mcp-Session-Id: x"}, 404},
		{"a method that is not allowed", "PUT", "/mcp", nil, nil, 405},
		{"the stream of the older transport", "GET", "/sse", nil, []string{"Accept: text/event-stream"}, 200},
		{"a message of the older transport", "POST", "/sse?sessionId=x", nil, post, 404},
		{"no such profile", "POST", "/mcp/none", nil, post, 404},
		{"no such path", "GET", "/.well-known/oauth-authorization-server", nil, nil, 404},
		{"no key", "POST", "/mcp", keys, post, 401},
		{"no token", "POST", "/mcp", guarded, post, 401},
		{"the metadata", "GET", "/.well-known/oauth-protected-resource/mcp", guarded, nil, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := openDoors(t, up.Front{Listen: settings.Listen{Origins: []string{origin}}}, test.access)
			headers := append([]string{"Origin: " + origin}, test.headers...)
			resp, text := exchanged(t, test.method, server.URL+test.path, initializeBody, headers...)
			if resp.StatusCode != test.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, test.status, text)
			}
			h := resp.Header
			if allowed := h.Get("Access-Control-Allow-Origin"); allowed != origin && allowed != "*" {
				t.Errorf("the page cannot read the response: %v", h)
			}
			if test.status == 401 && (h.Get("WWW-Authenticate") == "" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate")) {
				t.Errorf("the page cannot read the challenge: %v", h)
			}
			before, _ := exchanged(t, "OPTIONS", server.URL+test.path, "", "Origin: "+origin, "Access-Control-Request-Method: "+test.method,
				"Access-Control-Request-Headers: authorization,content-type,last-event-id,mcp-method,mcp-param-city,mcp-protocol-version,mcp-session-id", "Access-Control-Request-Private-Network: true")
			allowed := before.Header.Get("Access-Control-Allow-Headers")
			if before.StatusCode != 204 || allowed != "*" && !strings.Contains(allowed, "mcp-param-city") {
				t.Errorf("the page may not ask: %d %v", before.StatusCode, before.Header)
			}
			other, _ := exchanged(t, test.method, server.URL+test.path, initializeBody, append([]string{"Origin: https://evil.example"}, test.headers...)...)
			if public := strings.HasPrefix(test.path, up.MetadataPath); !public && (other.StatusCode != 403 || other.Header.Get("Access-Control-Allow-Origin") != "") {
				t.Errorf("another origin: %d %v", other.StatusCode, other.Header)
			}
		})
	}
}

type verifierOf func(token string) (*auth.Token, error)

func (v verifierOf) Verify(_ context.Context, token, _ string) (*auth.Token, error) { return v(token) }

func TestOtherPagesOnLocalhostReadNothing(t *testing.T) {
	server := openDoors(t, up.Front{Listen: settings.Listen{Origins: []string{"https://app.example"}}}, nil)
	resp, _ := exchanged(t, "OPTIONS", server.URL+"/mcp", "", "Origin: http://localhost:6274", "Access-Control-Request-Method: POST")
	if resp.StatusCode != 405 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
}

func TestNoPageReadsResponsesWithoutTheFlag(t *testing.T) {
	server := openDoors(t, up.Front{}, nil)
	resp, _ := exchanged(t, "OPTIONS", server.URL+"/mcp", "", "Origin: http://localhost:6274", "Access-Control-Request-Method: POST")
	if resp.StatusCode != 405 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
}

func TestPathsOfEndpoints(t *testing.T) {
	tokens := verifierOf(func(string) (*auth.Token, error) { return nil, auth.ErrToken })
	guarded := &up.Access{Origins: []string{"http://127.0.0.1"}, Issuers: []string{"https://as.example"}, Verifier: tokens, Guards: map[string]*auth.Guard{}}
	guarded.Profile = func(name string) mcp.Handler {
		if name != "work" {
			return nil
		}
		return mcp.NewServer("s", "1")
	}
	const none, noProfile = "404 there is nothing at this path; the endpoint is /mcp", "404 there is no profile %q; the endpoint is /mcp, or /mcp/NAME for a profile of the configuration"
	for _, test := range []struct{ method, path, want string }{
		{"POST", "/mcp", "200"},
		{"POST", "/mcp/", "200"},
		{"POST", "/mcp/?x=1", "200"},
		{"POST", "/mcp/work", "200"},
		{"POST", "/mcp/work/", "200"},
		{"GET", "/sse", "200"},
		{"GET", "/sse/", "200"},
		{"GET", "/sse/work/", "200"},
		{"POST", "/mcp//", fmt.Sprintf(noProfile, "/")},
		{"POST", "//mcp/", none},
		{"POST", "/mcp%2F", fmt.Sprintf(noProfile, "")},
		{"POST", "/mcp/work%2F", fmt.Sprintf(noProfile, "work/")},
		{"POST", "/mcp/other/", fmt.Sprintf(noProfile, "other/")},
		{"POST", "/mcp/work/more/", fmt.Sprintf(noProfile, "work/more/")},
		{"POST", "/mcpx/", none},
		{"POST", "/", none},
		{"GET", "/messages/", none},
	} {
		server := openDoors(t, up.Front{}, nil)
		resp, text := exchanged(t, test.method, server.URL+test.path, initializeBody, "Content-Type: application/json", "Accept: application/json, text/event-stream")
		got := fmt.Sprint(resp.StatusCode)
		if resp.StatusCode != 200 {
			got += " " + strings.TrimSpace(text)
		}
		if got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.method, test.path, got, test.want)
		}
	}
	for path, want := range map[string]string{
		"/.well-known/oauth-protected-resource":           "/mcp",
		"/.well-known/oauth-protected-resource/":          "/mcp",
		"/.well-known/oauth-protected-resource/mcp":       "/mcp",
		"/.well-known/oauth-protected-resource/mcp/":      "/mcp",
		"/.well-known/oauth-protected-resource/mcp/work/": "/mcp/work",
		"/.well-known/oauth-protected-resource/mcp/none/": "",
		"/.well-known/oauth-protected-resource/mcp%2F":    "",
	} {
		server := openDoors(t, up.Front{}, guarded)
		resp, text := exchanged(t, "GET", server.URL+path, "")
		if named := strings.Contains(text, `"resource":"http://127.0.0.1`+want+`"`); (want != "") != (resp.StatusCode == 200) || want != "" && !named {
			t.Errorf("%s: got %d %s, want the metadata of %q", path, resp.StatusCode, text, want)
		}
	}
}

func TestMessagesOfTheOlderTransportBehindASlash(t *testing.T) {
	server := openDoors(t, up.Front{}, nil)
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/sse/", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	begin := make([]byte, 200)
	n, _ := stream.Body.Read(begin)
	_, to, _ := strings.Cut(string(begin[:n]), "data: ")
	to, _, _ = strings.Cut(to, "\n")
	if resp, text := exchanged(t, "POST", server.URL+to, initializeBody, "Content-Type: application/json"); resp.StatusCode != 202 || !strings.HasPrefix(to, "/sse/?") {
		t.Errorf("a message to %q got %d %s", to, resp.StatusCode, text)
	}
}
