package inspect

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp/apps"
)

func TestViewsReachOnlyDeclaredOrigins(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		response, err := c.client.Get(c.url + path + "/app?uri=ui://clock")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if at := response.Request.URL.Path; !strings.HasPrefix(at, "/once/") || response.Request.URL.RawQuery != "" {
			t.Errorf("the view is at %s", response.Request.URL)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != "<p>A clock</p>" || response.StatusCode != http.StatusOK {
			t.Errorf("status %d, %v: %s", response.StatusCode, err, body)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "",
			"Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' https://cdn.example.com; style-src 'unsafe-inline' https://cdn.example.com; " +
				"img-src data: blob: https://cdn.example.com; media-src data: blob: https://cdn.example.com; font-src data: https://cdn.example.com; " +
				"connect-src https://time.example.com; frame-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
		c.do("GET", path+"/app?uri=https://example.com", nil, http.StatusBadRequest)
		c.do("GET", path+"/app?uri=ui://none", nil, http.StatusBadGateway)
	})
}

func TestAViewCannotWidenItsPolicyOrReachTheConsole(t *testing.T) {
	for _, domain := range []string{"https://example.com", "https://example.com/", "https://*.example.com", "https://example.com:8443", "wss://example.com", "http://localhost:3000", "http://127.0.0.1:3000", "ws://[::1]:3000"} {
		if err := checkDomain(domain, "7718", true, true); err != nil {
			t.Errorf("%s: %v", domain, err)
		}
	}
	for _, domain := range []string{
		"", "*", "https:", "https://", "data:", "blob:", "'self'", "'unsafe-eval'", "'none'", "example.com", "https://*", "https://example.com/path", "https://a.example.com https://b.example.com",
		"https://example.com; script-src *", "https://example.com\r\nSet-Cookie: a=b", "https://example.com,", "http://example.com", "ws://example.com", "http://localhost", "http://localhost:7718", "https://localhost:7718",
		"http://127.0.0.1:7718", "http://127.9.9.9:7718", "http://[::1]:7718", "http://[::ffff:127.0.0.1]:7718", "http://a.localhost:7718", "ws://127.0.0.1:7718", "http://127.1:7718", "http://2130706433:7718", "http://0.0.0.0:7718",
		"http://localhost.:7718", "https://user@example.com", "http://127.0.0.1:07718", "http://localhost:007718", "ws://[::1]:07718", "http://[::ffff:7f00:1]:7718",
		"https://0.0.0.0:7718", "https://127.1:7718", "https://2130706433:7718", "https://0x7f.1:7718", "javascript:alert(1)", "https://example.com:*",
	} {
		if err := checkDomain(domain, "7718", true, true); err == nil {
			t.Errorf("%q is let through", domain)
		}
		if _, err := policyOf(&apps.CSP{Frame: []string{domain}}, "7718", true); err == nil {
			t.Errorf("%q is let through in a policy", domain)
		}
	}
	for _, domain := range []string{"http://127.0.0.1:11434", "ws://localhost:9222", "http://[::1]:2375", "https://0.0.0.0:8443", "https://127.1:8443"} {
		if err := checkDomain(domain, "7718", true, false); err == nil {
			t.Errorf("the view of a server elsewhere reaches %s", domain)
		}
	}
	for at, want := range map[string]bool{"http://127.0.0.1:3000/mcp": true, "http://localhost/mcp": true, "https://[::1]/": true, "https://example.com/mcp": false, "https://localhost.example.com": false, "***": false, "": false} {
		if got := (Entry{URL: at}).isHere(); got != want {
			t.Errorf("a server at %q is on this machine: %v, want %v", at, got, want)
		}
	}
	if !(Entry{Command: "npx"}).isHere() {
		t.Error("a program is on this machine")
	}
	if _, err := policyOf(&apps.CSP{Resource: []string{"wss://example.com"}}, "7718", true); err == nil {
		t.Error("sockets give no resources")
	}
	many := strings.Split(strings.Repeat("https://example.com ", maxDomains+1), " ")
	if _, err := policyOf(&apps.CSP{Connect: many[:maxDomains+1]}, "7718", true); err == nil || err.Error() != "its connectDomains has more than 50 entries" {
		t.Errorf("too many: %v", err)
	}
	got, err := policyOf(nil, "7718", true)
	if want := "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; " +
		"connect-src 'none'; frame-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"; err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}
