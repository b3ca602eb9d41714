package up

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// reloadTime is how long a request for a reload waits until the configuration has been read.
const reloadTime = AdminTime / 2

// adminToken returns the token for the admin address and a description of its source. It creates a
// token if there is none.
func adminToken(p place.Place) (token, from string, err error) {
	if token = p.Getenv(launch.AdminTokenEnv); token != "" {
		return token, "the variable " + launch.AdminTokenEnv, nil
	}
	path, err := p.State("admin.token")
	if err != nil {
		return "", "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, rand.Text())
		err = errors.Join(err, file.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", "", fmt.Errorf("the token for --admin: %w", err)
	}
	text, err := os.ReadFile(path)
	if token = strings.TrimSpace(string(text)); err == nil && token == "" {
		err = fmt.Errorf("%s is empty; remove it, and junction makes a new one", path)
	}
	if err != nil {
		return "", "", fmt.Errorf("the token for --admin: %w", err)
	}
	return token, path, nil
}

// demands returns middleware that refuses requests without the token.
func demands(token string) func(http.Handler) http.HandlerFunc {
	return func(h http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 0 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="junction"`)
				reply.Error(w, http.StatusUnauthorized, errors.New("expected the header Authorization: Bearer TOKEN, with the token of --admin"))
				return
			}
			h.ServeHTTP(w, r)
		}
	}
}

// serveControl adds the routes that need a token: status, definitions without approval, restart,
// approval and reload. by describes the caller, for messages.
func (v *Served) serveControl(mux *http.ServeMux, withToken func(http.Handler) http.HandlerFunc, by func(*http.Request) caller) {
	handle := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, withToken(h)) }
	handle("GET /api/status", func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, http.StatusOK, v.describe())
	})
	handle("GET /api/settings", v.sendSettings)
	handle("POST /api/servers/{name}/restart", func(w http.ResponseWriter, r *http.Request) {
		name, running := r.PathValue("name"), 0
		for _, s := range v.Gateway.Members().Status() {
			if s.Name == name {
				running = s.Running
			}
		}
		if err := v.restart(name, by(r)); err != nil {
			reply.Error(w, http.StatusNotFound, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "server %q is restarted; it had %s\n", name, plaintext.Count(running, "request"))
	})
	handle("POST /api/reload", func(w http.ResponseWriter, r *http.Request) { v.reloadNow(w, r, by(r)) })
	handle("GET /api/unapproved", v.ListUnapproved)
	handle("POST /api/servers/{name}/approve", func(w http.ResponseWriter, r *http.Request) { v.approve(w, r, by(r)) })
	v.serveApprovals(func(pattern string, h http.Handler) { mux.Handle(pattern, withToken(h)) }, "/api", func(*http.Request) (approvals.Approver, error) {
		return approvals.Approver{Name: "operator", Operator: true}, nil
	})
	v.serveInside(handle)
}

// reloadNow reads the configuration again, and responds when it is known whether the configuration
// is valid. Servers start and end after the response.
func (v *Served) reloadNow(w http.ResponseWriter, r *http.Request, by caller) {
	ctx, cancel := context.WithTimeout(r.Context(), reloadTime)
	defer cancel()
	read := make(chan error, 1)
	select {
	case v.again <- reloadRequest{by, read}:
	case <-ctx.Done():
		reply.Error(w, http.StatusServiceUnavailable, errors.New("the last reload still starts and ends servers; try again in a moment"))
		return
	}
	select {
	case err := <-read:
		if err != nil {
			reply.Error(w, http.StatusUnprocessableEntity, fmt.Errorf("the configuration cannot be used, so the earlier servers keep running: %w", err))
			return
		}
	case <-ctx.Done(): // the configuration is still being read
	}
	w.WriteHeader(http.StatusAccepted)
}

// unapproved returns the definitions of the current servers that are not approved, and the pins on
// disk. It returns no definitions if the settings disable review.
func (v *Served) unapproved(ctx context.Context) (all []*policies.Unapproved, catalogue *guard.Catalogue, approved *guard.Pins, err error) {
	if approved, err = reach.Pins(ctx, v.App); err != nil {
		return nil, nil, nil, err
	}
	mode := v.Gateway.Layers().Plan().Settings.Review
	if mode == reach.ReviewNone {
		return nil, new(guard.Catalogue), approved, nil
	}
	all, catalogue = policies.FindUnapproved(ctx, v.App, v.serverEntries(), approved, review.Mode(mode))
	return all, catalogue, approved, nil
}

// ListUnapproved responds with the definitions that are not approved. It adds a hash for each
// server, which an approval of exactly these definitions names.
func (v *Served) ListUnapproved(w http.ResponseWriter, r *http.Request) {
	type field struct {
		Field string `json:"field"`
		Text  string `json:"text"`
	}
	type definition struct {
		Kind     string   `json:"kind"`
		Name     string   `json:"name"`
		Changed  bool     `json:"changed"` // false for a new definition
		Diff     string   `json:"diff"`
		Fields   []field  `json:"fields,omitempty"` // set for a new definition
		Findings []string `json:"findings,omitempty"`
	}
	type server struct {
		Server      string       `json:"server"`
		Hash        string       `json:"hash"`
		Definitions []definition `json:"definitions"`
	}
	all, catalogue, _, err := v.unapproved(r.Context())
	if err != nil {
		reply.Error(w, http.StatusInternalServerError, err)
		return
	}
	servers := []server{}
	for _, u := range all {
		s := server{Server: u.Server, Hash: u.Hash()}
		for _, withheld := range u.Withheld {
			d := withheld.Definition
			one := definition{Kind: string(d.Kind), Name: d.Name, Changed: withheld.Verdict.State == guard.Changed, Diff: guard.Diff(policies.ApprovedDefinition(withheld), d)}
			for _, c := range guard.Changes(policies.ApprovedDefinition(withheld), d) {
				if !one.Changed {
					one.Fields = append(one.Fields, field{c.Field, c.New})
				}
			}
			one.Findings = policies.Findings(catalogue, d)
			s.Definitions = append(s.Definitions, one)
		}
		servers = append(servers, s)
	}
	reply.JSON(w, http.StatusOK, struct {
		Review  string   `json:"review"` // mode of review
		Servers []server `json:"servers"`
	}{v.Gateway.Layers().Plan().Settings.Review, servers})
}

// approve approves the definitions of a server if the hash in the query is that of the current
// definitions.
func (v *Served) approve(w http.ResponseWriter, r *http.Request, by caller) {
	if status, err := v.approveExactly(r.Context(), by, r.PathValue("name"), r.URL.Query().Get("hash")); err != nil {
		reply.Error(w, status, err)
		return
	}
	w.WriteHeader(http.StatusNoContent) // the new pins take effect within a second
}

// approveExactly approves the definitions of a server for by, if hash is the hash of the current
// ones. With an error it returns the HTTP status.
func (v *Served) approveExactly(ctx context.Context, by caller, name, hash string) (status int, err error) {
	all, _, approved, err := v.unapproved(ctx)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	i := slices.IndexFunc(all, func(u *policies.Unapproved) bool { return u.Server == name })
	switch {
	case i < 0:
		return http.StatusNotFound, errors.New("this server has nothing to approve")
	case hash == "":
		return http.StatusBadRequest, errors.New("expected ?hash=HASH, with the hash of GET /api/unapproved")
	case hash != all[i].Hash():
		return http.StatusConflict, errors.New("the server's definitions changed meanwhile; GET /api/unapproved shows them")
	}
	err = policies.ApproveDefinitions(approved, name, all[i].Definitions())
	if err == nil {
		v.note(&audit.Record{Event: audit.EventApprove, Operator: by.operator(), Address: hostOf(by.address), Server: name, Name: hash})
	}
	return http.StatusInternalServerError, err
}

// restart restarts a server for by, and prints a line about that.
func (v *Served) restart(name string, by caller) error {
	err := v.board.restart(name, by.String(), func() error { return v.Gateway.Members().Restart(name) })
	if err == nil {
		v.note(&audit.Record{Event: audit.EventRestart, Operator: by.operator(), Address: hostOf(by.address), Server: name})
	}
	return err
}
