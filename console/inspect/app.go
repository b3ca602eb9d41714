package inspect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/mcp/apps"
)

// maxDomains is how many origins a view may name for one purpose.
const maxDomains = 50

// app sends a frame on to a view of the server (MCP Apps), at an address that says nothing of the console's. Its policy makes a document of an origin of its own of it, wherever it is shown:
// it can send no cookie of the console, read nothing of it, and reach no other origins than those that it names.
func (c *connection) app(w http.ResponseWriter, r *http.Request) error {
	client, a, err := c.connectedTo()
	if err != nil {
		return err
	}
	if c.of.options.Once == nil {
		return reply.Refuse(http.StatusNotImplemented, "this console shows no views")
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), defaultTimeout, fmt.Errorf("no answer within %v", time.Duration(defaultTimeout)))
	defer cancel()
	uri := r.URL.Query().Get("uri")
	if !strings.HasPrefix(uri, apps.Scheme) || len(uri) > maxURI {
		return reply.Refuse(http.StatusBadRequest, `"uri": expected one that begins with %s`, apps.Scheme)
	}
	v, err := apps.Read(ctx, client, uri)
	if err != nil {
		return reply.Refuse(http.StatusBadGateway, "%v", err)
	}
	_, port, _ := net.SplitHostPort(r.Host)
	policy, err := policyOf(v.CSP, port, a.opened.Entry.isHere())
	if err != nil {
		return reply.Refuse(http.StatusUnprocessableEntity, "the view %s: %v", uri, err)
	}
	path := c.of.options.Once(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Del("X-Frame-Options") // frame-ancestors says who may show it
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(v.HTML)) // the page may be gone
	}))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// isHere reports whether the server is known to be a program on this machine.
func (e Entry) isHere() bool {
	u, err := url.Parse(e.URL)
	return e.Command != "" || err == nil && isLoopback(strings.ToLower(u.Hostname()))
}

// isLoopback reports whether a host is this machine. Browsers take any word that ends with a number for an IPv4 address.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback() || address.Unmap().IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || last != "" && last[0] >= '0' && last[0] <= '9'
}

// policyOf is the policy of a view by the rules of the extension: what it does not name it cannot reach. 'self' is nowhere, as
// that is where the console is; port is the console's, and here says that the server is on this machine.
func policyOf(named *apps.CSP, port string, here bool) (string, error) {
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
			if err := checkDomain(domain, port, one.what == "connectDomains", here); err != nil {
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

// checkDomain says what is wrong with an origin that a view names. Only the view of a server on this machine reaches others there.
func checkDomain(domain, port string, connects, here bool) error {
	m := domainForm.FindStringSubmatch(strings.TrimSuffix(domain, "/"))
	if m == nil || strings.HasSuffix(domain, "/") && strings.Count(domain, "/") != 3 {
		return fmt.Errorf("%.100q is no origin such as https://example.com", domain)
	}
	scheme, host := m[1], strings.Trim(strings.ToLower(m[2]), "[].")
	local := isLoopback(host)
	at, _ := strconv.Atoi(m[3]) // 0: that of the scheme; 08000 is 8000
	own, _ := strconv.Atoi(port)
	switch {
	case strings.HasPrefix(scheme, "ws") && !connects:
		return fmt.Errorf("%q is for connectDomains only", domain)
	case local && (at == 0 || at == own):
		return fmt.Errorf("%q may be the console itself, which a view must not reach", domain)
	case local && !here:
		return fmt.Errorf("%q is on this machine, and the server is not", domain)
	case !local && scheme != "https" && scheme != "wss":
		return fmt.Errorf("%q is not encrypted", domain)
	}
	return nil
}
