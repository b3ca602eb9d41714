package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// document is the URL that the suite defines for the client's metadata document.
const document = "https://conformance-test.local/client-metadata.json"

// given holds the credentials that the suite gives to a client without a user or with a
// registration.
type given struct {
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret"`
	Key      string `json:"private_key_pem"`
	Workload string `json:"valid_jwt"`

	Provider       string `json:"idp_issuer"`
	ProviderToken  string `json:"idp_token_endpoint"`
	ProviderClient string `json:"idp_client_id"`
	Identity       string `json:"idp_id_token"`
}

// authorized returns a function for a transport that gets tokens as a scenario requires. The
// suite's authorization server redirects every user back at once.
func authorized(name, text string) func(url string) mcp.Transport {
	var g given
	_ = json.Unmarshal([]byte(text), &g) // without a valid text g stays empty
	o := oauth.Options{Name: "junction-conformance-client", Document: document, Visit: func(context.Context, string) (*oauth.Visit, error) {
		return &oauth.Visit{Redirect: "http://127.0.0.1:3000/callback", Go: visit}, nil
	}}
	switch name {
	case "auth/client-credentials-jwt", "auth/client-credentials-basic":
		o.Grant = oauth.ClientCredentials()
	case "auth/wif-jwt-bearer":
		o.Grant = oauth.Assertion(func(context.Context, oauth.Asked) (string, error) { return g.Workload, nil })
	case "auth/enterprise-managed-authorization":
		o.Grant = oauth.Enterprise(oauth.IdentityProvider{
			Issuer: g.Provider, Token: g.ProviderToken, Client: oauth.Registration{ID: g.ProviderClient},
			Identity: func(context.Context) (string, error) { return g.Identity, nil },
		})
	}
	if g.ID != "" {
		r := oauth.Registration{ID: g.ID, Secret: g.Secret}
		if block, _ := pem.Decode([]byte(g.Key)); block != nil {
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				panic(err)
			}
			r.Key = key.(crypto.Signer)
		}
		o.Registered = func(string) (oauth.Registration, bool) { return r, true }
	}
	c := oauth.New(o)
	return func(url string) mcp.Transport {
		t, err := c.Transport(url, nil)
		if err != nil {
			panic(err)
		}
		return streamable.ClientWith(url, streamable.ClientOptions{HTTP: &http.Client{Transport: t}})
	}
}

// visit acts as a user who agrees to everything.
func visit(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	back := response.Header.Get("Location")
	if back == "" {
		return "", fmt.Errorf("the page sends nobody back: HTTP status %d", response.StatusCode)
	}
	return back, nil
}

// useTestTool lists the tools and calls the test tool.
func useTestTool(ctx context.Context, c *mcp.Client, _ details) error {
	for _, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
	}
	_, err := c.CallTool(ctx, "test-tool", map[string]any{})
	return err
}
