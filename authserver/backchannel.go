package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/state"
)

const (
	// logoutAge is the largest age of a logout token, and logoutSkew how far clocks may differ. The
	// uses of a token are remembered for as long as it is accepted.
	logoutAge  = 10 * time.Minute
	logoutSkew = time.Minute
	// maxLogouts limits the logout requests of an address in logoutTime, and maxRefusedLogouts those
	// that are refused. A refused one may cost a request to the provider, for its keys.
	maxLogouts        = 1_000
	maxRefusedLogouts = 30
	logoutTime        = time.Minute
	// maxCheckedLogouts limits the logout tokens that are checked at the same time, of which one
	// address has a share. As it is smaller than maxRefusedLogouts, tokens in flight use up no refusal.
	maxCheckedLogouts = 16
	maxTokenID        = 1 << 10 // bytes
)

const usedLogoutPrefix = "authserver/logout/"

// logoutEvent is the member of the claim events that makes a token a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// A logoutToken holds the claims of a logout token (OpenID Connect Back-Channel Logout 1.0 section
// 2.4).
type logoutToken struct {
	Issuer   string                     `json:"iss"`
	Subject  string                     `json:"sub"`
	Audience jws.Texts                  `json:"aud"`
	Issued   float64                    `json:"iat"`
	Expires  float64                    `json:"exp"`
	ID       string                     `json:"jti"`
	Session  string                     `json:"sid"`
	Events   map[string]json.RawMessage `json:"events"`
	Nonce    json.RawMessage            `json:"nonce"`
}

// errLogout reports that a logout token is not valid.
var errLogout = errors.New("the logout token is not valid")

// errLogouts reports that logout requests of an address are refused.
var errLogouts = errors.New("too many logout requests came from this address; try again later")

// backChannelLogout handles a request of the provider to end logins.
func (s *Server) backChannelLogout(w http.ResponseWriter, r *http.Request) {
	p, now := s.options.Provider, time.Now()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	token, err := s.admitLogout(r, now)
	if err == nil {
		err = s.useLogout(r.Context(), token)
	}
	switch {
	case errors.Is(err, errLogouts):
		w.Header().Set("Retry-After", strconv.Itoa(int(logoutTime/time.Second)))
		refuse(w, http.StatusTooManyRequests, "temporarily_unavailable", err.Error())
	case errors.Is(err, errLogout):
		s.options.Logger.WarnContext(r.Context(), "logout by the provider refused", "address", addressOf(r), "error", err)
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
	case err != nil:
		s.fail(w, r, "end logins for the provider", err)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// admitLogout returns the claims of a request's logout token. Requests wait for the checks of others
// from their address, whose number is limited. An error is errLogouts, or one of logoutToken.
func (s *Server) admitLogout(r *http.Request, now time.Time) (*logoutToken, error) {
	from := addressOf(r)
	if !s.attempts.take(now, logoutTime, attempt{"logout of " + from, maxLogouts}) {
		return nil, errLogouts
	}
	ctx, cancel := context.WithTimeout(r.Context(), providerTime)
	defer cancel()
	done, err := s.logouts.Wait(ctx, from)
	if err != nil {
		return nil, errLogouts
	}
	defer done()
	refused := attempt{"logout refused of " + from, maxRefusedLogouts}
	if !s.attempts.take(time.Now(), logoutTime, refused) {
		return nil, errLogouts
	}
	token, err := s.logoutToken(ctx, r.PostFormValue("logout_token"), now)
	if err == nil {
		s.attempts.forget(refused)
	}
	return token, err
}

// logoutToken returns the claims of a logout token after all checks of section 2.6 but that for
// replays. An error is errLogout unless the provider cannot be asked for its keys.
func (s *Server) logoutToken(ctx context.Context, text string, now time.Time) (*logoutToken, error) {
	fault := func(format string, args ...any) (*logoutToken, error) {
		return nil, fmt.Errorf("%w: %w", errLogout, fmt.Errorf(format, args...))
	}
	if strings.Count(text, ".") != 2 {
		return fault("expected a signed JWT in logout_token, which is not encrypted")
	}
	object, err := jose.ParseSignedCompact(text, identityAlgorithms())
	if err != nil {
		return fault("it does not have a signature algorithm of ID tokens")
	}
	kind, _ := object.Signatures[0].Header.ExtraHeaders[jose.HeaderType].(string)
	if kind = strings.TrimPrefix(strings.ToLower(kind), "application/"); kind != "" && kind != "jwt" && kind != "logout+jwt" {
		return fault("it has the type %.100q", kind)
	}
	party, err := s.options.Provider.partyFor(ctx, s.options.Issuer+callbackPath)
	if err != nil {
		return nil, err
	}
	payload, err := party.first.KeySet.VerifySignature(ctx, object)
	if err != nil {
		return fault("%s did not sign it", s.options.Provider.Issuer)
	}
	t := new(logoutToken)
	if err := json.Unmarshal(payload, t); err != nil {
		return fault("%w", err)
	}
	issued, expires := time.Unix(int64(t.Issued), 0), time.Unix(int64(t.Expires), 0)
	switch event := strings.TrimSpace(string(t.Events[logoutEvent])); {
	case !oauthdoc.Same(t.Issuer, party.issuer):
		return fault("%.200q issued it, not %s", t.Issuer, party.issuer)
	case !slices.Contains(t.Audience, party.config.ClientID):
		return fault("it is for %.200q, not for %s", t.Audience, party.config.ClientID)
	case t.Issued == 0 || issued.After(now.Add(logoutSkew)) || issued.Before(now.Add(-logoutAge)):
		return fault("it was not issued in the last %v", logoutAge)
	case t.Expires == 0 || !now.Before(expires.Add(logoutSkew)):
		return fault("it has expired")
	case t.Subject == "" && t.Session == "":
		return fault("it names neither a user (sub) nor a session (sid)")
	case !strings.HasPrefix(event, "{"):
		return fault("events has no object %s", logoutEvent)
	case t.Nonce != nil:
		return fault("it has a nonce, and may be an ID token")
	case t.ID == "" || len(t.ID) > maxTokenID:
		return fault("its jti has 1 to %d bytes", maxTokenID)
	}
	return t, nil
}

// useLogout ends the logins that a token is about. Each token is used once.
func (s *Server) useLogout(ctx context.Context, t *logoutToken) error {
	key := usedLogoutPrefix + hash(t.Issuer+"\n"+t.ID)
	_, err := s.swap(ctx, key, "", struct{}{}, logoutAge+2*logoutSkew)
	if errors.Is(err, state.ErrConflict) {
		return fmt.Errorf("%w: it was used before", errLogout)
	}
	if err != nil {
		return err
	}
	ended := map[string]int{}
	err = eachLogin(ctx, s.options.Store, func(key string, a *authentication) error {
		if !t.isAbout(a) {
			return nil
		}
		ended[a.User]++
		return s.options.Store.Delete(ctx, key, state.Hold{})
	})
	for user, n := range ended {
		s.options.Logger.InfoContext(ctx, "logins ended by the provider", "user", user, "logins", n)
		s.record(ctx, Event{Kind: EventLogout, User: user, Name: strconv.Itoa(n), Reason: "back-channel logout"})
	}
	s.ended(ctx)
	if err != nil { // the provider may send the token again
		err = errors.Join(err, s.options.Store.Delete(context.WithoutCancel(ctx), key, state.Hold{}))
	}
	return err
}

// isAbout reports whether a token ends a login: a login of the session, or all of the user if the
// token names no session. A login whose session is not known ends with any session of its user.
func (t *logoutToken) isAbout(a *authentication) bool {
	if a.Subject == "" || t.Subject != "" && t.Subject != a.Subject {
		return false
	}
	return t.Session == "" || t.Session == a.Session || a.Session == "" && t.Subject != ""
}
