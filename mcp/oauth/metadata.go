package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	maxMetadata = 256 << 10 // bytes of what an authorization server sends
	maxServers  = 10        // authorization servers of one resource that are looked at
)

// errNoMetadata says that a document is not there.
var errNoMetadata = errors.New("there is no such document")

// A resource is what a server says of its protection (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Bound    bool     `json:"dpop_bound_access_tokens_required"`
}

// An issuer is what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
type issuer struct {
	Issuer          string   `json:"issuer"`
	Authorize       string   `json:"authorization_endpoint,omitempty"`
	Token           string   `json:"token_endpoint"`
	Register        string   `json:"registration_endpoint,omitempty"`
	Revoke          string   `json:"revocation_endpoint,omitempty"`
	Challenges      []string `json:"code_challenge_methods_supported,omitempty"`
	Methods         []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	Algorithms      []string `json:"token_endpoint_auth_signing_alg_values_supported,omitempty"`
	ProofAlgorithms []string `json:"dpop_signing_alg_values_supported,omitempty"`
	Grants          []string `json:"grant_types_supported,omitempty"`
	Scopes          []string `json:"scopes_supported,omitempty"`
	Documents       bool     `json:"client_id_metadata_document_supported,omitempty"`
	SendsIssuer     bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
}

// resourceOf finds out who protects a server: where the challenge says so, or else at the well-known places
// of the server's own URL. It is nil for servers that know nothing of that (before 2025-06-18).
func (c *Client) resourceOf(ctx context.Context, server *url.URL, at string) (*resource, error) {
	places := []string{at}
	if at == "" {
		places = wellKnown(server, "oauth-protected-resource", false)
	}
	for _, place := range places {
		var found resource
		err := c.document(ctx, place, &found)
		switch {
		case errors.Is(err, errNoMetadata) && at == "":
			continue
		case err != nil:
			return nil, fmt.Errorf("the protected resource's metadata: %w", err)
		case !covers(found.Resource, server):
			return nil, fmt.Errorf("the protected resource's metadata at %s is of %q, not of %s", place, found.Resource, canonical(server))
		case len(found.Servers) == 0:
			return nil, fmt.Errorf("the protected resource's metadata at %s names no authorization server", place)
		}
		found.Servers = found.Servers[:min(len(found.Servers), maxServers)]
		return &found, nil
	}
	return nil, nil
}

// issuerOf reads what an authorization server says of itself. Its name must be the very one that was asked for:
// else another server could answer in its place (RFC 8414 section 3.3).
func (c *Client) issuerOf(ctx context.Context, name string) (*issuer, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the authorization server %.200q is no URL of one", name)
	}
	for _, place := range append(wellKnown(u, "oauth-authorization-server", true), openIDPlaces(u)...) {
		var found issuer
		err := c.document(ctx, place, &found)
		switch {
		case errors.Is(err, errNoMetadata):
			continue
		case err != nil:
			return nil, fmt.Errorf("the authorization server's metadata: %w", err)
		case found.Issuer != name:
			return nil, fmt.Errorf("the metadata at %s is of the authorization server %q, not of %q", place, found.Issuer, name)
		}
		return &found, found.check()
	}
	return nil, fmt.Errorf("the authorization server %s has no metadata: %w", name, errNoMetadata)
}

// check says what an authorization server lacks, or has that must not be used.
func (i *issuer) check() error {
	for _, endpoint := range []struct{ name, url string }{{"authorization_endpoint", i.Authorize}, {"token_endpoint", i.Token}, {"registration_endpoint", i.Register}, {"revocation_endpoint", i.Revoke}} {
		if endpoint.url == "" {
			continue
		}
		if u, err := url.Parse(endpoint.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("the authorization server %s: %s: %.200q is no page of the web", i.Issuer, endpoint.name, endpoint.url)
		}
	}
	if i.Token == "" {
		return fmt.Errorf("the authorization server %s names no token_endpoint", i.Issuer)
	}
	return nil
}

// usual are the endpoints of an authorization server of 2025-03-26 that says nothing of itself.
func usual(origin string) *issuer {
	return &issuer{Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register", Challenges: []string{"S256"}}
}

// wellKnown are the places of a document about a URL: with the URL's path behind the name, and then, unless only
// that is right, without.
func wellKnown(u *url.URL, name string, pathOnly bool) (places []string) {
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	place := u.Scheme + "://" + u.Host + "/.well-known/" + name
	if path != "" {
		places = append(places, place+path)
	}
	if path == "" || !pathOnly {
		places = append(places, place)
	}
	return places
}

// openIDPlaces are those of OpenID Connect Discovery, which put the path in front, too.
func openIDPlaces(u *url.URL) []string {
	places := wellKnown(u, "openid-configuration", true)
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		places = append(places, u.Scheme+"://"+u.Host+path+"/.well-known/openid-configuration")
	}
	return places
}

// canonical is the name of a server as a resource (RFC 8707): without a query, a fragment and a slash at the end.
func canonical(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + strings.TrimSuffix(u.EscapedPath(), "/")
}

// covers reports whether a resource is a server, or a part of its site that holds it.
func covers(name string, server *url.URL) bool {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return false
	}
	whole, of := canonical(u), canonical(server)
	return of == whole || strings.HasPrefix(of, whole+"/")
}

// document reads a JSON document. It is errNoMetadata where the server has none there.
func (c *Client) document(ctx context.Context, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	response, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", at, err)
	case response.StatusCode >= 400 && response.StatusCode < 500:
		return fmt.Errorf("%s: HTTP status %d: %w", at, response.StatusCode, errNoMetadata)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: HTTP status %d", at, response.StatusCode)
	case len(body) > maxMetadata:
		return fmt.Errorf("%s has more than %d KiB", at, maxMetadata>>10)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s is no JSON: %w", at, err)
	}
	return nil
}

// A challenge is what a 401 or 403 says in WWW-Authenticate (RFC 6750, RFC 9728).
type challenge struct {
	metadata string   // where the protected resource's is
	scopes   []string // that are needed
	fault    string   // such as insufficient_scope
	proof    bool     // whether the server wants a proof of who has the token (RFC 9449)
}

// challengeOf reads the challenge for a token among those of a response.
func challengeOf(h http.Header) (c challenge) {
	for _, value := range h.Values("WWW-Authenticate") {
		for scheme, parameters := range challenges(value) {
			if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
				continue
			}
			c.metadata, c.proof = parameters["resource_metadata"], strings.EqualFold(scheme, "DPoP")
			c.fault = parameters["error"]
			if scope := strings.Fields(parameters["scope"]); len(scope) > 0 {
				c.scopes = slices.Compact(scope)
			}
			return c
		}
	}
	return c
}
