package inspect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/junction-mcp/junction/mcp/apps"
)

// maxDomains is how many origins a view may name for one purpose.
const maxDomains = 50

// app serves a view of the server (MCP Apps). Its policy makes a document of an origin of its own of it, wherever it is shown:
// it can send no cookie of the console, read nothing of it, and reach no other origins than those that it names.
func (c *connection) app(w http.ResponseWriter, r *http.Request) error {
	client, _, err := c.connectedTo()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), defaultTimeout, fmt.Errorf("no answer within %v", time.Duration(defaultTimeout)))
	defer cancel()
	uri := r.URL.Query().Get("uri")
	if !strings.HasPrefix(uri, apps.Scheme) || len(uri) > maxURI {
		return refuse(http.StatusBadRequest, `"uri": expected one that begins with %s`, apps.Scheme)
	}
	v, err := apps.Read(ctx, client, uri)
	if err != nil {
		return refuse(http.StatusBadGateway, "%v", err)
	}
	_, port, _ := net.SplitHostPort(r.Host)
	policy, err := policyOf(v.CSP, port)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "the view %s: %v", uri, err)
	}
	h := w.Header()
	h.Del("X-Frame-Options") // frame-ancestors says who may show it
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(v.HTML)) // the page may be gone
	return nil
}

// policyOf is the policy of a view by the rules of the extension: what it does not name it cannot reach. 'self' is nowhere, as
// that is where the console is; port is the console's.
func policyOf(named *apps.CSP, port string) (string, error) {
	if named == nil {
		named = &apps.CSP{}
	}
	var resources, connects, frames, bases string
	for _, one := range []struct {
		into    *string
		what    string
		domains []string
	}{{&resources, "resourceDomains", named.Resource}, {&connects, "connectDomains", named.Connect}, {&frames, "frameDomains", named.Frame}, {&bases, "baseUriDomains", named.BaseURI}} {
		if len(one.domains) > maxDomains {
			return "", fmt.Errorf("its %s has more than %d entries", one.what, maxDomains)
		}
		for _, domain := range one.domains {
			if err := checkDomain(domain, port, one.what == "connectDomains"); err != nil {
				return "", fmt.Errorf("its %s: %w", one.what, err)
			}
			*one.into += " " + domain
		}
	}
	orNone := func(text string) string {
		if text == "" {
			return " 'none'"
		}
		return text
	}
	return "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'" + resources + "; style-src 'unsafe-inline'" + resources +
		"; img-src data: blob:" + resources + "; media-src data: blob:" + resources + "; font-src data:" + resources +
		"; connect-src" + orNone(connects) + "; frame-src" + orNone(frames) + "; object-src 'none'; form-action 'none'; base-uri" + orNone(bases) +
		"; frame-ancestors 'self'", nil
}

// domainForm is an origin as a policy has it; what is no part of one ends a directive, or the policy.
var domainForm = regexp.MustCompile(`^(https?|wss?)://((?:\*\.)?[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::(\d{1,5}))?$`)

// checkDomain says what is wrong with an origin that a view names.
func checkDomain(domain, port string, connects bool) error {
	m := domainForm.FindStringSubmatch(strings.TrimSuffix(domain, "/"))
	if m == nil || strings.HasSuffix(domain, "/") && strings.Count(domain, "/") != 3 {
		return fmt.Errorf("%.100q is no origin such as https://example.com", domain)
	}
	scheme, host := m[1], strings.Trim(strings.ToLower(m[2]), "[].")
	address, err := netip.ParseAddr(host)
	here := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && address.Unmap().IsLoopback()
	u, _ := url.Parse(domain)
	at := ""
	if u != nil {
		at = u.Port()
	}
	switch {
	case strings.HasPrefix(scheme, "ws") && !connects:
		return fmt.Errorf("%q is for connectDomains only", domain)
	case here && (at == "" || at == port):
		return fmt.Errorf("%q may be the console itself, which a view must not reach", domain)
	case !here && scheme != "https" && scheme != "wss":
		return fmt.Errorf("%q is not encrypted", domain)
	}
	return nil
}
