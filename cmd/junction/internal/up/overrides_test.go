package up_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/spf13/pflag"
)

// TestAFlagSetsNoOtherSettingAside tests all flags that are settings, too. A flag that is given
// counts, even with its default, and the other settings stay as they are.
func TestAFlagSetsNoOtherSettingAside(t *testing.T) {
	s, err := settings.Parse([]byte(`{"tools": "search", "pin": ["a*"], "policy": "rules.json", "shadow": true, "review": "all", "names": "none",
		"drain": {"delay": "7s", "time": "8s"}, "auth": ["keys"], "telemetry": {"otlp": "http://a.example", "logFormat": "json", "logLevel": "info"},
		"listen": {"http": "127.0.0.1:1", "tls": {"cert": "a.crt", "key": "a.key", "clientCA": "a.ca", "clientRevoked": "a.crl"}, "publicURL": "https://a.example", "hosts": ["a.example"], "origins": ["https://a.example"],
			"trustedProxies": ["10.0.0.0/8"], "proxyProtocol": true, "admin": "127.0.0.1:2", "adminInsecure": true},
		"audit": {"folder": "log", "sync": "call", "keep": "3MB", "keepFor": "100h", "optional": true, "export": ["syslog+udp://127.0.0.1:514"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		given   string // of the flag
		byFlag  any
		setting any
		value   func(s *settings.Settings) any
	}
	rows := map[string]row{
		"tools":              {"auto", "auto", "search", func(s *settings.Settings) any { return s.Tools }},
		"pin":                {"b*", []string{"b*"}, []string{"a*"}, func(s *settings.Settings) any { return s.Pin }},
		"policy":             {"other.json", "other.json", "rules.json", func(s *settings.Settings) any { return s.Policy }},
		"shadow":             {"false", false, true, func(s *settings.Settings) any { return s.Shadow }},
		"review":             {"none", "none", "all", func(s *settings.Settings) any { return s.Review }},
		"no-prefix":          {"false", false, true, func(s *settings.Settings) any { return s.Names == "none" }},
		"audit":              {"folder", "folder", "log", func(s *settings.Settings) any { return s.Audit.Folder }},
		"audit-sync":         {"second", "second", "call", func(s *settings.Settings) any { return s.Audit.Sync }},
		"audit-keep":         {"1GB", "1GB", "3MB", func(s *settings.Settings) any { return s.Audit.Keep }},
		"audit-keep-for":     {"0s", time.Duration(0), 100 * time.Hour, func(s *settings.Settings) any { return s.Audit.KeepFor }},
		"audit-optional":     {"false", false, true, func(s *settings.Settings) any { return s.Audit.Optional }},
		"audit-export":       {"syslog+udp://127.0.0.1:515", []string{"syslog+udp://127.0.0.1:515"}, []string{"syslog+udp://127.0.0.1:514"}, func(s *settings.Settings) any { return s.Audit.Export }},
		"drain-delay":        {"0s", time.Duration(0), 7 * time.Second, func(s *settings.Settings) any { return *s.Drain.Delay }},
		"drain-time":         {"5s", 5 * time.Second, 8 * time.Second, func(s *settings.Settings) any { return *s.Drain.Time }},
		"http":               {"127.0.0.1:3", "127.0.0.1:3", "127.0.0.1:1", func(s *settings.Settings) any { return s.Listen.HTTP }},
		"tls-cert":           {"b.crt", "b.crt", "a.crt", func(s *settings.Settings) any { return s.Listen.TLS.Cert }},
		"tls-key":            {"b.key", "b.key", "a.key", func(s *settings.Settings) any { return s.Listen.TLS.Key }},
		"tls-client-ca":      {"b.ca", "b.ca", "a.ca", func(s *settings.Settings) any { return s.Listen.TLS.ClientCA }},
		"tls-client-revoked": {"b.crl", "b.crl", "a.crl", func(s *settings.Settings) any { return s.Listen.TLS.Revoked }},
		"public-url":         {"https://b.example", "https://b.example", "https://a.example", func(s *settings.Settings) any { return s.Listen.PublicURL }},
		"allow-host":         {"b.example", []string{"b.example"}, []string{"a.example"}, func(s *settings.Settings) any { return s.Listen.Hosts }},
		"allow-origin":       {"https://b.example", []string{"https://b.example"}, []string{"https://a.example"}, func(s *settings.Settings) any { return s.Listen.Origins }},
		"trusted-proxy":      {"unix", []string{"unix"}, []string{"10.0.0.0/8"}, func(s *settings.Settings) any { return s.Listen.TrustedProxies }},
		"proxy-protocol":     {"false", false, true, func(s *settings.Settings) any { return s.Listen.ProxyProtocol }},
		"admin":              {"127.0.0.1:4", "127.0.0.1:4", "127.0.0.1:2", func(s *settings.Settings) any { return s.Listen.Admin }},
		"admin-insecure":     {"false", false, true, func(s *settings.Settings) any { return s.Listen.AdminInsecure }},
		"auth":               {"local", []string{"local"}, []string{"keys"}, func(s *settings.Settings) any { return s.Auth }},
		"otlp":               {"http://b.example", "http://b.example", "http://a.example", func(s *settings.Settings) any { return s.Telemetry.OTLP }},
		"log-format":         {"text", "text", "json", func(s *settings.Settings) any { return s.Telemetry.LogFormat }},
		"log-level":          {"warn", "warn", "info", func(s *settings.Settings) any { return s.Telemetry.LogLevel }},
	}
	parsed := func(args ...string) *settings.Settings {
		t.Helper()
		o := new(up.Options)
		set := pflag.NewFlagSet("up", pflag.ContinueOnError)
		o.Define(set)
		set.BoolVar(&o.NoPrefix, "no-prefix", false, "")
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		for _, one := range o.Flags.All {
			if _, known := rows[one.Name]; !known {
				t.Errorf("--%s has no row here", one.Name)
			}
		}
		merged, _, err := o.Settle(s, "junction.json")
		if err != nil {
			t.Fatal(args, err)
		}
		return merged
	}
	for flag, r := range rows {
		if got := r.value(parsed()); !reflect.DeepEqual(got, r.setting) {
			t.Errorf("without flags %s is %v, want %v", flag, got, r.setting)
		}
		for other, with := range rows {
			want := r.setting
			if other == flag {
				want = r.byFlag
			}
			if got := r.value(parsed(fmt.Sprintf("--%s=%s", other, with.given))); !reflect.DeepEqual(got, want) {
				t.Errorf("with --%s=%s %s is %v, want %v", other, with.given, flag, got, want)
			}
		}
	}
	// The other flags of up have no setting.
	alone := []string{
		"stdio", "profile", "console", "config", "frozen", "record", "verbose", "help", "check", "json",
	}
	up.Command((&cli.App{Place: clitest.PlaceOf(t)})).Flags().VisitAll(func(f *pflag.Flag) {
		if _, known := rows[f.Name]; !known && !slices.Contains(alone, f.Name) {
			t.Errorf("--%s: give it a row here if settings can say the same, or name it among those that they cannot", f.Name)
		}
	})
}

func TestDrainDelayIsLongerWithReadinessChecks(t *testing.T) {
	for _, test := range []struct {
		admin string
		want  time.Duration
	}{{"", 0}, {"127.0.0.1:0", up.DefaultDrainDelay}} {
		o := new(up.Options)
		o.Define(new(pflag.FlagSet))
		merged, _, err := o.Settle(&settings.Settings{Listen: settings.Listen{Admin: test.admin}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := *merged.Drain.Delay; got != test.want {
			t.Errorf("with --admin %q: %v, want %v", test.admin, got, test.want)
		}
	}
}

func TestHealthIsForEveryHost(t *testing.T) {
	h := up.Guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), rebinding.Guard{}, "/healthz", "/readyz")
	for _, test := range []struct {
		path, host, origin string
		want               int
	}{
		{"/readyz", "", "", http.StatusOK},
		{"/healthz", "", "", http.StatusOK},
		{"/readyz", "junction.tools.svc:9464", "", http.StatusOK},
		{"/healthz", "junction.tools.svc:9464", "https://page.example", http.StatusOK},
		{"/metrics", "junction.tools.svc:9464", "", http.StatusForbidden},
		{"/metrics", "", "", http.StatusForbidden},
		{"/api/status", "junction.tools.svc:9464", "", http.StatusForbidden},
		{"/readyz/x", "junction.tools.svc:9464", "", http.StatusForbidden},
		{"/metrics", "127.0.0.1:9464", "", http.StatusOK},
	} {
		r := httptest.NewRequest("GET", test.path, nil)
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s of %q: status %d, want %d", test.path, test.host, w.Code, test.want)
		}
	}
}
