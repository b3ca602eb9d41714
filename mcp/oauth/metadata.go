package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/oauthdoc"
)

const (
	maxMetadata = 256 << 10 // maximum bytes of a response from an authorization server
	maxServers  = 10        // maximum number of authorization servers of one resource to try
)

// A resource is the metadata of a protected resource (RFC 9728).
type resource struct {
	Resource string         `json:"resource"`
	Servers  oauthdoc.Words `json:"authorization_servers"`
	Scopes   oauthdoc.Words `json:"scopes_supported"`
	Bound    oauthdoc.Flag  `json:"dpop_bound_access_tokens_required"`
}

// An issuer is the metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
type issuer struct {
	Issuer          string         `json:"issuer"`
	Authorize       string         `json:"authorization_endpoint,omitempty"`
	Token           string         `json:"token_endpoint"`
	Register        string         `json:"registration_endpoint,omitempty"`
	Revoke          string         `json:"revocation_endpoint,omitempty"`
	Challenges      oauthdoc.Words `json:"code_challenge_methods_supported,omitempty"`
	Methods         oauthdoc.Words `json:"token_endpoint_auth_methods_supported,omitempty"`
	Algorithms      oauthdoc.Words `json:"token_endpoint_auth_signing_alg_values_supported,omitempty"`
	ProofAlgorithms oauthdoc.Words `json:"dpop_signing_alg_values_supported,omitempty"`
	Grants          oauthdoc.Words `json:"grant_types_supported,omitempty"`
	Scopes          oauthdoc.Words `json:"scopes_supported,omitempty"`
	Documents       oauthdoc.Flag  `json:"client_id_metadata_document_supported,omitempty"`
	SendsIssuer     oauthdoc.Flag  `json:"authorization_response_iss_parameter_supported,omitempty"`
}

// resourceOf returns the metadata of a protected server. It tries the URL in the challenge, and
// then the well-known URLs of the server. It returns nil for a server that publishes no metadata,
// as before 2025-06-18.
func (c *Client) resourceOf(ctx context.Context, server *url.URL, at string) (*resource, error) {
	places := oauthdoc.WellKnown(server, "oauth-protected-resource", false)
	if at != "" {
		place, err := server.Parse(at)
		if err != nil {
			return nil, fmt.Errorf("the protected resource's metadata: %.200q is not a URL", at)
		}
		at = place.String()
		places = append([]string{at}, slices.DeleteFunc(places, func(p string) bool { return p == at })...)
	}
	found := new(resource)
	err := oauthdoc.Read(ctx, c.http, places, func(text []byte) error {
		*found = resource{}
		switch err := oauthdoc.Decode(text, found); {
		case err != nil:
			return err
		case found.Resource == "" && len(found.Servers) == 0:
			return oauthdoc.ErrNone
		case !covers(found.Resource, server):
			return fmt.Errorf("it is of %.200q, not of %s", found.Resource, canonical(server))
		case len(found.Servers) == 0:
			return errors.New("it names no authorization server")
		}
		return nil
	})
	switch {
	case errors.Is(err, oauthdoc.ErrNone) && at == "":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the protected resource's metadata: %w", err)
	}
	found.Servers = found.Servers[:min(len(found.Servers), maxServers)]
	return found, nil
}

// issuerOf reads the metadata of an authorization server. The issuer in it must equal name.
// Otherwise another server could impersonate the authorization server (RFC 8414 section 3.3).
func (c *Client) issuerOf(ctx context.Context, name string) (*issuer, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%.200q is not the URL of an authorization server", name)
	}
	found := new(issuer)
	err = oauthdoc.Read(ctx, c.http, oauthdoc.Issuer(u), func(text []byte) error {
		*found = issuer{}
		switch err := oauthdoc.Decode(text, found); {
		case err != nil:
			return err
		case found.Issuer == "":
			return oauthdoc.ErrNone
		case !oauthdoc.Same(found.Issuer, name):
			return fmt.Errorf("it names the issuer %.200q, not %q", found.Issuer, name)
		}
		return found.check()
	})
	if err != nil {
		return nil, fmt.Errorf("the metadata of the authorization server %s: %w", name, err)
	}
	return found, nil
}

// check returns an error if required endpoints are missing or if an endpoint must not be used.
func (i *issuer) check() error {
	for _, endpoint := range []struct{ name, url string }{{"authorization_endpoint", i.Authorize}, {"token_endpoint", i.Token}, {"registration_endpoint", i.Register}, {"revocation_endpoint", i.Revoke}} {
		if endpoint.url == "" {
			continue
		}
		if u, err := url.Parse(endpoint.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%s: %.200q is not a web page", endpoint.name, endpoint.url)
		}
	}
	if i.Token == "" {
		return errors.New("it names no token_endpoint")
	}
	return nil
}

// canonical returns the name of a server as a resource (RFC 8707), which has no query, fragment or
// final slash.
func canonical(u *url.URL) string {
	return oauthdoc.Origin(u) + oauthdoc.Path(strings.TrimSuffix(u.EscapedPath(), "/"))
}

// covers reports whether a resource is the server, or a parent path of it at the same origin.
func covers(name string, server *url.URL) bool {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return false
	}
	whole, of := canonical(u), canonical(server)
	return of == whole || strings.HasPrefix(of, whole+"/")
}
