package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/oauthdoc"
)

// known returns the client's registration with an authorization server: one made beforehand, the
// published document, or the client's own earlier registration. In the last case, remembered is
// set. A client without an ID is not registered.
func (c *Client) known(ctx context.Context, to *issuer) (r *Registration, remembered bool, err error) {
	if c.options.Registered != nil {
		if r, ok := c.options.Registered(to.Issuer); ok {
			return new(r.stored()), false, nil
		}
	}
	if c.options.Document != "" && to.Documents {
		return &Registration{ID: c.options.Document, Redirect: c.options.Redirect}, false, nil
	}
	earlier, found, err := c.store.client(ctx, to.Issuer)
	if errors.Is(err, ErrKey) {
		err = nil // a registration sealed with another key is replaced
	}
	if err != nil || !found || !earlier.Expires.IsZero() && !c.now().Before(earlier.Expires) {
		return &Registration{Redirect: earlier.Redirect}, true, err
	}
	return &earlier, true, nil
}

// register registers the client with an authorization server (RFC 7591).
func (c *Client) register(ctx context.Context, with *issuer, redirect string) (*Registration, error) {
	if with.Register == "" {
		return nil, fmt.Errorf("the authorization server %s does not register clients: register %s there, with the redirect URI %s, and give its ID", with.Issuer, c.options.Name, redirect)
	}
	method := methodNone
	if len(with.Methods) > 0 && !slices.Contains(with.Methods, methodNone) {
		method = with.secretMethod()
	}
	grants := []string{"authorization_code"}
	if len(with.Grants) == 0 || slices.Contains(with.Grants, "refresh_token") {
		grants = append(grants, "refresh_token")
	}
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && (u.Scheme == "http" || u.Hostname() == "localhost") {
		kind = "native"
	}
	body, err := json.Marshal(map[string]any{
		"client_name": c.options.Name, "redirect_uris": []string{redirect}, "application_type": kind,
		"grant_types": grants, "response_types": []string{"code"}, "token_endpoint_auth_method": method,
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		ID     string           `json:"client_id"`
		Secret string           `json:"client_secret"`
		Method string           `json:"token_endpoint_auth_method"`
		Until  oauthdoc.Seconds `json:"client_secret_expires_at"` // 0 if it does not expire
	}
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}
	if err := c.post(ctx, with.Register, header, string(body), &answer); err != nil {
		return nil, fmt.Errorf("register with %s: %w", with.Issuer, err)
	}
	if answer.ID == "" {
		return nil, fmt.Errorf("register with %s: the response has no client_id", with.Issuer)
	}
	r := &Registration{ID: answer.ID, Secret: answer.Secret, Method: cmp.Or(answer.Method, method), Redirect: redirect}
	if answer.Until > 0 {
		r.Expires = time.Unix(int64(min(answer.Until, 1<<40)), 0)
	}
	return r, nil
}
