package authserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/state"
)

const (
	maxClients       = 1_000               // clients that registered themselves
	unusedClientTime = time.Hour           // maximum age of a client that no user has allowed
	clientTime       = 90 * 24 * time.Hour // time without use after which a client is removed
	// defaultRegistrations is the number of registrations in registerTime. Sites with one
	// registration each may make the same number again.
	defaultRegistrations = 300
	registerTime         = time.Hour
)

// A registration is a client's request for registration (RFC 7591 section 2). Its other members are
// ignored.
type registration struct {
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`

	Method string          `json:"token_endpoint_auth_method"`
	Keys   json.RawMessage `json:"jwks"`
	KeysAt string          `json:"jwks_uri"`
}

// check returns an error if a client asks for unsupported features.
func (r *registration) check() error {
	switch {
	case len(r.Name) > maxClientName:
		return fmt.Errorf("client_name: expected up to %d bytes, got %d", maxClientName, len(r.Name))
	case len(r.Grants) > 0 && !slices.Contains(r.Grants, "authorization_code"):
		return fmt.Errorf("grant_types: expected authorization_code among them, got %.200q", r.Grants)
	case len(r.Responses) > 0 && !slices.Contains(r.Responses, "code"):
		return fmt.Errorf("response_types: expected code among them, got %.200q", r.Responses)
	}
	return checkRedirects(r.Redirects)
}

// register registers a client from its description (RFC 7591). Clients get no secret, because every
// use needs a user's permission. A request for a secret succeeds without one; the only accepted
// credentials are keys for signed assertions.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	here := attempt{"register " + addressOf(r), max(s.options.Registrations/10, 1)}
	first := attempt{"register after all of " + share.Site(r.RemoteAddr), 1} // one for each site, so that a few addresses cannot keep out all others
	now := time.Now()
	if !s.take(r.Context(), now, registerTime, attempt{"register", s.options.Registrations}, here) &&
		!s.take(r.Context(), now, registerTime, attempt{"register after all", s.options.Registrations}, here, first) {
		if s.attempts.take(time.Now(), attemptTime, attempt{"registrations refused of " + addressOf(r), 1}) { // log at most one line each attemptTime
			s.options.Logger.WarnContext(r.Context(), "clients are refused: too many registered themselves in an hour", "address", addressOf(r))
		}
		w.Header().Set("Retry-After", "600")
		refuse(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many clients registered themselves lately; try again later")
		return
	}
	var asked registration
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxClientText))
	if err := decoder.Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "expected a JSON object of up to 16 KiB with redirect_uris")
		return
	}
	if err := asked.check(); err != nil {
		fault := "invalid_client_metadata"
		if checkRedirects(asked.Redirects) != nil {
			fault = "invalid_redirect_uri"
		}
		refuse(w, http.StatusBadRequest, fault, err.Error())
		return
	}
	c := client{ID: rand.Text(), Name: plaintext.Line(asked.Name, maxClientName), Redirects: asked.Redirects, Made: time.Now().UTC().Truncate(time.Second)}
	err := asked.sign(&c)
	if err == nil && c.KeysAt != "" && s.options.RegisteredOnly {
		err = errors.New("jwks_uri: this server reads no URLs of clients; send the keys themselves (jwks)")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", err.Error())
		return
	}
	if err := s.keepClient(r, c); err != nil {
		if errors.Is(err, state.ErrFull) {
			refuse(w, http.StatusServiceUnavailable, "temporarily_unavailable", err.Error())
			return
		}
		s.fail(w, r, "register a client", err)
		return
	}
	s.record(r.Context(), Event{Kind: EventClient, Client: c.ID, Name: c.Name})
	s.options.Logger.InfoContext(r.Context(), "client registered", "client", c.ID, "name", c.Name, "address", addressOf(r))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	answer := map[string]any{
		"client_id": c.ID, "client_id_issued_at": c.Made.Unix(), "client_name": c.Name, "redirect_uris": c.Redirects,
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": methodNone,
	}
	if c.signs() {
		answer["token_endpoint_auth_method"] = methodKey
	}
	if c.KeysAt != "" {
		answer["jwks_uri"] = c.KeysAt
	} else if c.signs() {
		answer["jwks"] = jose.JSONWebKeySet{Keys: c.Keys}
	}
	_ = json.NewEncoder(w).Encode(answer) // fails if the client has disconnected
}

func (s *Server) keepClient(r *http.Request, c client) error {
	there, err := s.options.Store.List(r.Context(), clientPrefix, "", maxClients)
	if err != nil {
		return err
	}
	if len(there) >= maxClients {
		return fmt.Errorf("%w: %d clients have registered themselves; unused ones are removed later", state.ErrFull, maxClients)
	}
	_, err = s.swap(r.Context(), clientPrefix+hash(c.ID), "", c, unusedClientTime)
	return err
}

// refuse responds to a client's request with an error (RFC 6749 section 5.2).
func refuse(w http.ResponseWriter, status int, fault, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": fault, "error_description": why}) // fails if the client has disconnected
}

// fail responds to a request that cannot be served, and logs the reason.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, what string, err error) {
	s.options.Logger.ErrorContext(r.Context(), "authorization server: "+what, "error", err)
	if isAway(err) {
		w.Header().Set("Retry-After", awayPause)
		refuse(w, http.StatusServiceUnavailable, "temporarily_unavailable", "this cannot be done now; try again in some seconds")
		return
	}
	refuse(w, http.StatusInternalServerError, "server_error", "this cannot be done now; the log of the server has the reason")
}
