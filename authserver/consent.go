package authserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// consentTime is how long a user's consent is stored.
	consentTime = 90 * 24 * time.Hour
	// touchPause is the time between two records of a client's use.
	touchPause = 24 * time.Hour
)

const consentPrefix = "authserver/consent/"

// consentKey returns the key of a consent in the store. Another redirect URI, resource or set of
// scopes has another key.
func consentKey(u User, q *request, scopes []string) string {
	text, _ := json.Marshal([]any{u.Name, u.stamp(), q.Client, q.Redirect, q.Resource, slices.Sorted(slices.Values(scopes))})
	return consentPrefix + hash(string(text))
}

// isRemembered reports whether a stored consent of the user may be used. That requires a client
// that others cannot imitate. Its redirect URI must be that of a website, and it must have a
// document or have been first allowed by this user. The user is therefore always asked about a
// program on their own machine (RFC 8252 section 8.6), and about a client that another user
// registered.
func (s *Server) isRemembered(ctx context.Context, u User, c *client, q *request, scopes []string) (bool, error) {
	to, err := url.Parse(q.Redirect)
	if err != nil || to.Scheme != "https" || !c.isDocument() && c.Owner != u.Name || slices.Contains(q.Prompt, oidc.PromptConsent) {
		return false, nil
	}
	_, err = s.options.Store.Get(ctx, consentKey(u, q, scopes))
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// showConsent shows a page that asks the user whether to allow a client.
func (s *Server) showConsent(w http.ResponseWriter, r *http.Request) {
	q, sealed, u, c, ok := s.consentRequest(w, r)
	if !ok {
		return
	}
	scopes := u.may(q.Scopes)
	if s.refusesUser(w, r, q, scopes) {
		return
	}
	switch remembered, err := s.isRemembered(r.Context(), u, c, q, scopes); {
	case err != nil:
		s.fail(w, r, "find a consent", err)
	case remembered:
		s.allow(w, r, q, u, scopes)
	case slices.Contains(q.Prompt, oidc.PromptNone):
		s.redirectUnasked(w, r, q, oidc.ErrInteractionRequired().WithDescription("the user must be asked"))
	default:
		s.show(w, http.StatusOK, q.Redirect, s.consentPage(q, c, u, scopes, s.describe(r.Context(), q), sealed, s.formToken(r, "consent", q)))
	}
}

// consent handles the user's decision.
func (s *Server) consent(w http.ResponseWriter, r *http.Request) {
	q, sealed, u, c, ok := s.consentRequest(w, r)
	if !ok {
		return
	}
	if err := s.checkForm(r, "consent", q); err != nil {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	switch r.PostFormValue("decision") {
	case "allow":
	case "other":
		http.SetCookie(w, s.newCookie(sessionCookie, "", -time.Second))
		if err := s.options.Store.Delete(r.Context(), sessionPrefix+hash(s.cookie(r, sessionCookie)), state.Hold{}); err != nil {
			s.fail(w, r, "end a session", err)
			return
		}
		http.Redirect(w, r, loginPath+"?request="+url.QueryEscape(sealed), http.StatusSeeOther)
		return
	default:
		s.record(r.Context(), Event{Kind: EventConsent, Outcome: OutcomeCancelled, User: u.Name, Client: q.Client, Name: q.Resource})
		s.back(w, r, q, oidc.ErrAccessDenied().WithDescription("the user declined"))
		return
	}
	scopes := u.may(q.Scopes)
	if s.refusesUser(w, r, q, scopes) {
		return
	}
	if err := s.happened(r.Context(), Event{Kind: EventConsent, User: u.Name, Client: q.Client, Name: q.Resource, Scopes: scopes}); err != nil {
		s.fail(w, r, "record a consent", err)
		return
	}
	err := s.changeClient(r.Context(), c, func(c *client) {
		c.Owner, c.Used = cmp.Or(c.Owner, u.Name), time.Now()
	})
	for _, key := range []string{allowedKey(u.Name, q.Client, q.Redirect), consentKey(u, q, scopes)} {
		if err == nil {
			_, err = s.options.Store.Put(r.Context(), key, []byte("{}"), state.Write{TTL: consentTime})
		}
	}
	if err != nil {
		s.fail(w, r, "remember a consent", err)
		return
	}
	s.allow(w, r, q, u, scopes)
}

// consentRequest returns the request, user and client of a consent page. If one is missing, it
// writes the response, and ok is false.
func (s *Server) consentRequest(w http.ResponseWriter, r *http.Request) (q *request, sealed string, u User, c *client, ok bool) {
	q, sealed, err := s.pending(r)
	if err != nil {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	u, err = s.user(r)
	if errors.Is(err, ErrNoUser) {
		http.Redirect(w, r, loginPath+"?request="+url.QueryEscape(sealed), http.StatusSeeOther)
		return
	}
	if err != nil {
		s.fail(w, r, "find a user", err)
		return
	}
	if c, err = s.client(r.Context(), q.Client); err != nil || !c.allowsRedirect(q.Redirect) {
		s.showFault(w, http.StatusBadRequest, errNoClient)
		return
	}
	return q, sealed, u, c, true
}

// refusesUser redirects a user without the required scopes back to the client, and reports whether
// it did.
func (s *Server) refusesUser(w http.ResponseWriter, r *http.Request, q *request, scopes []string) bool {
	for _, needed := range s.options.Needs {
		if !slices.Contains(scopes, needed) {
			s.redirectUnasked(w, r, q, oidc.ErrAccessDenied().WithDescription("this needs the scopes %q, but the client did not request them, or the user does not have them", strings.Join(s.options.Needs, " ")))
			return true
		}
	}
	return false
}

// allow redirects the browser back to the client with a code.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, q *request, u User, scopes []string) {
	name, err := s.newCode(r.Context(), q, grant{User: u.Name, Login: u.login, Client: q.Client, Resource: q.Resource, Scopes: scopes})
	if errors.Is(err, errRequest) {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	if err != nil {
		s.fail(w, r, "make a code", err)
		return
	}
	s.back(w, r, q, &op.CodeResponseType{Code: name, State: q.State})
}

// touch records that a client was used, so that it is not removed as unused.
func (s *Server) touch(ctx context.Context, id string) {
	c, err := s.client(ctx, id)
	if err == nil && time.Since(c.Used) > touchPause {
		err = s.changeClient(ctx, c, func(c *client) { c.Used = time.Now() })
	}
	if err != nil {
		s.options.Logger.WarnContext(ctx, "could not record that a client was used", "error", err)
	}
}

func (s *Server) changeClient(ctx context.Context, c *client, change func(*client)) error {
	for !c.isDocument() {
		now, version, err := s.registered(ctx, c.ID)
		if err != nil {
			return err
		}
		change(now)
		_, err = s.swap(ctx, clientPrefix+hash(c.ID), version, now, clientTime)
		if !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return nil
}
