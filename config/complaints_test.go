package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestDockerGateway467AServerGetsNoSecretOfAnother has the name of a thread about another gateway:
// a server got the secrets of others.
func TestDockerGateway467AServerGetsNoSecretOfAnother(t *testing.T) {
	t.Setenv("FIRST_KEY", "secret-one")
	t.Setenv("SECOND_KEY", "secret-two")
	f, err := Parse("mcp.json", []byte(`{"mcpServers": {
		"first": {"command": "first", "env": {"KEY": "${FIRST_KEY}"}},
		"second": {"url": "https://second.example/mcp", "headers": {"Authorization": "Bearer ${SECOND_KEY}"}}}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Servers {
		s, err := d.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprint(s.Env, s.Headers, s.Args)
		for name, secret := range map[string]string{"first": "secret-one", "second": "secret-two"} {
			if strings.Contains(all, secret) != (d.Name == name) {
				t.Errorf("%s has the secret of %s: %v", d.Name, name, strings.Contains(all, secret))
			}
		}
	}
}
