package main

import (
	"maps"
	"os"
	"regexp"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

func TestTheResourceOfTelemetry(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, attributes, service string
		want                      map[string]string // in addition to service.instance.id
		wantService               string
	}{
		{"nothing is set", "", "", map[string]string{"host.name": host, "service.version": cli.Version}, ""},
		{"attributes", "deployment.environment=prod, team=a%20b ,broken,=x", "", map[string]string{"host.name": host, "service.version": cli.Version, "deployment.environment": "prod", "team": "a b"}, ""},
		{"attributes that are known, too", "service.name=gate,service.version=9,host.name=h", "", map[string]string{"host.name": "h", "service.version": "9", "service.name": "gate"}, "gate"},
		{"the name of the service", "service.name=gate", "front", map[string]string{"host.name": host, "service.version": cli.Version, "service.name": "gate"}, "front"},
	} {
		r := up.NewResource(func(name string) string {
			return map[string]string{"OTEL_RESOURCE_ATTRIBUTES": test.attributes, "OTEL_SERVICE_NAME": test.service}[name]
		})
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(r.Attributes["service.instance.id"]) {
			t.Errorf("%s: service.instance.id is %q", test.name, r.Attributes["service.instance.id"])
		}
		delete(r.Attributes, "service.instance.id")
		if !maps.Equal(r.Attributes, test.want) || r.Service != test.wantService {
			t.Errorf("%s: %q of %q, want %q of %q", test.name, r.Attributes, r.Service, test.want, test.wantService)
		}
	}
}
