package settings

import (
	"slices"
	"strings"
	"testing"
)

// Secrets that the file itself has are not shown, and references to secrets are.
func TestSecretsAreNotShown(t *testing.T) {
	s := &Settings{StateKeys: []string{"hunter1", "${file:key}"}, State: &State{URL: "valkey://u:hunter2@a/0?sentinelPassword=hunter3"},
		Approvals: &Approvals{&Webhook{URL: "https://hooks.example.com/T/hunter4?key=hunter5", Secret: "hunter6"}}}
	shown := ""
	for _, m := range s.List() {
		shown += m.Name() + " " + string(m.Shown()) + "\n"
	}
	if strings.Contains(shown, "hunter") || !strings.Contains(shown, "${file:key}") || !strings.Contains(shown, "https://hooks.example.com/***") {
		t.Error(shown)
	}
	for _, at := range []string{"https://hooks.example.com", "${secret:slack}", "${file:hook url}", "${HOOK}"} {
		s.Approvals.Webhook.Secret, s.Approvals.Webhook.URL = "${secret:hook}", at
		for _, m := range s.List() {
			if got := string(m.Shown()); m.Name() == "approvals.webhook.secret" && got != `"${secret:hook}"` || m.Name() == "approvals.webhook.url" && got != `"`+at+`"` {
				t.Errorf("%s: %s", m.Name(), got)
			}
		}
	}
	if got := s.SecretVariables(); !slices.Equal(got, []string{"HOOK"}) {
		t.Errorf("variables with secrets are %q", got)
	}
}
