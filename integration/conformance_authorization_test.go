package integration

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The authorization server of `junction up --auth local` passes the suite's scenarios for one: its metadata, and a login
// with a code, in which the suite is a client that registered and a browser fills in the forms.
func TestConformanceOfTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	issuer := localLogins(t, 15*time.Minute)
	for _, revision := range []string{"2025-03-26", legacyOlder, legacyNewest, modern} {
		t.Run(revision, func(t *testing.T) {
			callback := freeAddress(t)
			client := register(t, issuer+"/oauth/register", "http://"+callback+"/callback")
			dir := t.TempDir()
			lines, log := start(t, nodeEnv(t), suite(t, "authorization", "--url", issuer, "--client-id", client, "--resource", issuer+"/mcp",
				"--port", callback[strings.LastIndex(callback, ":")+1:], "--spec-version", revision, "-o", dir)...)
			within := time.After(time.Minute)
			for ended := false; !ended; {
				select {
				case line, ok := <-lines:
					if ended = !ok; strings.HasPrefix(line, issuer) {
						annLogsIn(t, line)
					}
				case <-within:
					t.Fatalf("the suite does not end: %s", log)
				}
			}
			verdicts := readVerdicts(t, dir)
			for _, scenario := range listed(t, revision, "Authorization server") {
				report(t, scenario, verdicts["authorization-server-"+scenario])
			}
		})
	}
}

// register registers a client that waits for codes at an address, and returns its id.
func register(t *testing.T, at, redirect string) string {
	t.Helper()
	body := encode(t, map[string]any{"client_name": "the suite", "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}})
	response, err := http.Post(at, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var registered struct {
		ClientID string `json:"client_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&registered); err != nil || response.StatusCode != http.StatusCreated || registered.ClientID == "" {
		t.Fatalf("registering: %s, %v", response.Status, err)
	}
	return registered.ClientID
}
