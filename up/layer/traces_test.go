package layer

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheResourceOfTelemetry(t *testing.T) {
	const version = "0.1.0"
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, attributes, service string
		want                      map[string]string // in addition to service.instance.id
		wantService               string
	}{
		{"nothing is set", "", "", map[string]string{"host.name": host, "service.version": version}, ""},
		{"attributes", "deployment.environment=prod, team=a%20b ,broken,=x", "", map[string]string{"host.name": host, "service.version": version, "deployment.environment": "prod", "team": "a b"}, ""},
		{"attributes that are known, too", "service.name=gate,service.version=9,host.name=h", "", map[string]string{"host.name": "h", "service.version": "9", "service.name": "gate"}, "gate"},
		{"the name of the service", "service.name=gate", "front", map[string]string{"host.name": host, "service.version": version, "service.name": "gate"}, "front"},
	} {
		r := newTelemetry(func(name string) string {
			return map[string]string{"OTEL_RESOURCE_ATTRIBUTES": test.attributes, "OTEL_SERVICE_NAME": test.service}[name]
		}, version)
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(r.attributes["service.instance.id"]) {
			t.Errorf("%s: service.instance.id is %q", test.name, r.attributes["service.instance.id"])
		}
		delete(r.attributes, "service.instance.id")
		if !maps.Equal(r.attributes, test.want) || r.service != test.wantService {
			t.Errorf("%s: %q of %q, want %q of %q", test.name, r.attributes, r.service, test.want, test.wantService)
		}
	}
}

func TestTracesGoWhereOpenTelemetrySays(t *testing.T) {
	for _, test := range []struct{ flag, env, want string }{
		{"", "", ""},
		{"http://a:1/", "", "http://a:1/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:2", "http://b:2/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:2 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:3/x", "http://c:3/x"},
		{"http://a:1", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:2 OTEL_SDK_DISABLED=true", "http://a:1/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:2 OTEL_SDK_DISABLED=true", ""},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:2 OTEL_TRACES_EXPORTER=none", ""},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:4317 OTEL_EXPORTER_OTLP_PROTOCOL=grpc", ""},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b:4318 OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "http://b:4318/v1/traces"},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(test.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		if got := tracesEndpoint(test.flag, func(name string) string { return env[name] }); got != test.want {
			t.Errorf("%q, %s: %q, want %q", test.flag, test.env, got, test.want)
		}
	}
}
