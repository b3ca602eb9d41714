package settings

import (
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
	s.Approvals.Webhook.Secret, s.Approvals.Webhook.URL = "${secret:hook}", "https://hooks.example.com"
	for _, m := range s.List() {
		if got := string(m.Shown()); m.Name() == "approvals.webhook.secret" && got != `"${secret:hook}"` || m.Name() == "approvals.webhook.url" && got != `"https://hooks.example.com"` {
			t.Errorf("%s: %s", m.Name(), got)
		}
	}
}
