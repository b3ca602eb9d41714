package inspect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAuthorizationResponsesAreShownWithoutSecrets(t *testing.T) {
	inspector := New(Options{})
	defer inspector.Close()
	for _, test := range []struct{ name, status, answer, failed, want string }{
		{"tokens", "200", `{"access_token":"hidden-0123","token_type":"Bearer","refresh_token":"hidden-0123","id_token":"hidden-0123","registration_client_uri":"https://as.example.com/r?token=hidden-0123"}`, "",
			`{"access_token":"***","token_type":"Bearer","refresh_token":"***","id_token":"***","registration_client_uri":"https://as.example.com/r?token=***"}`},
		{"codes", "200", `{"device_code":"hidden-0123","user_code":"hidden-0123","code":"hidden-0123","verification_uri":"https://as.example.com/d","expires_in":60}`, "",
			`{"device_code":"***","user_code":"***","code":"***","verification_uri":"https://as.example.com/d","expires_in":60}`},
		{"what was sent", "400", `{"error":"invalid_grant","error_description":"the token sent-0123\"4567 of ghp_0123456789012345 is unknown"}`, "invalid_grant: ***",
			`{"error":"invalid_grant","error_description":"***"}`},
		{"what was sent in a text", "400", `{"error":"invalid_grant","error_description":"the token sent-0123\"4567 is revoked"}`, "invalid_grant: the token *** is revoked",
			`{"error":"invalid_grant","error_description":"the token *** is revoked"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConnection(inspector, "x", Server{})
			defer c.idle.Stop()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if test.status == "400" {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/token", strings.NewReader("grant_type=refresh_token&refresh_token=sent-0123%224567"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			resp, err := c.transport(nil, true).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(got) != test.answer {
				t.Errorf("the client reads %s, %v", got, err)
			}
			events, _, _, _ := c.journal.after(0)
			shown := events[0].data
			if text(shown, "answer") != test.want || text(shown, "failed") != test.failed || text(shown, "form") != `{"grant_type":"refresh_token","refresh_token":"***"}` {
				t.Errorf("got %s, want %s", shown, test.want)
			}
		})
	}
}
