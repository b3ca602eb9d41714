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
		"drain": {"delay": "7s", "time": "8s"},
		"audit": {"folder": "log", "sync": "call", "keep": "3MB", "keepFor": "100h", "optional": true, "export": ["syslog+udp://127.0.0.1:514"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		given   string // of the flag
		byFlag  any
		setting any
		value   func(s *settings.Settings, d up.Drain) any
	}
	rows := map[string]row{
		"tools":          {"auto", "auto", "search", func(s *settings.Settings, _ up.Drain) any { return s.Tools }},
		"pin":            {"b*", []string{"b*"}, []string{"a*"}, func(s *settings.Settings, _ up.Drain) any { return s.Pin }},
		"policy":         {"other.json", "other.json", "rules.json", func(s *settings.Settings, _ up.Drain) any { return s.Policy }},
		"shadow":         {"false", false, true, func(s *settings.Settings, _ up.Drain) any { return s.Shadow }},
		"review":         {"none", "none", "all", func(s *settings.Settings, _ up.Drain) any { return s.Review }},
		"no-prefix":      {"false", false, true, func(s *settings.Settings, _ up.Drain) any { return s.Names == "none" }},
		"audit":          {"folder", "folder", "log", func(s *settings.Settings, _ up.Drain) any { return s.Audit.Folder }},
		"audit-sync":     {"second", "second", "call", func(s *settings.Settings, _ up.Drain) any { return s.Audit.Sync }},
		"audit-keep":     {"1GB", "1GB", "3MB", func(s *settings.Settings, _ up.Drain) any { return s.Audit.Keep }},
		"audit-keep-for": {"0s", time.Duration(0), 100 * time.Hour, func(s *settings.Settings, _ up.Drain) any { return s.Audit.KeepFor }},
		"audit-optional": {"false", false, true, func(s *settings.Settings, _ up.Drain) any { return s.Audit.Optional }},
		"audit-export":   {"syslog+udp://127.0.0.1:515", []string{"syslog+udp://127.0.0.1:515"}, []string{"syslog+udp://127.0.0.1:514"}, func(s *settings.Settings, _ up.Drain) any { return s.Audit.Export }},
		"drain-delay":    {"0s", time.Duration(0), 7 * time.Second, func(_ *settings.Settings, d up.Drain) any { return d.Delay }},
		"drain-time":     {"5s", 5 * time.Second, 8 * time.Second, func(_ *settings.Settings, d up.Drain) any { return d.Time }},
	}
	parsed := func(args ...string) (*settings.Settings, up.Drain) {
		t.Helper()
		o := &up.Options{Admin: "127.0.0.1:0"}
		set := pflag.NewFlagSet("up", pflag.ContinueOnError)
		o.Front.Flags(set, "")
		o.Flags = up.NewSettingFlags(set)
		set.BoolVar(&o.NoPrefix, "no-prefix", false, "")
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		for _, one := range o.Flags.All {
			if _, known := rows[one.Name]; !known {
				t.Errorf("--%s has no row here", one.Name)
			}
		}
		merged, ends, err := o.Settled(s)
		if err != nil {
			t.Fatal(args, err)
		}
		return merged, ends
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
		"http", "allow-host", "allow-origin", "tls-cert", "tls-key", "tls-client-ca", "tls-client-revoked", "auth", "public-url", "stdio", "otlp", "admin", "admin-insecure", "profile",
		"console", "config", "frozen", "record", "verbose", "log-format", "log-level", "help", "trusted-proxy", "proxy-protocol",
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
		o := &up.Options{Admin: test.admin, Flags: up.NewSettingFlags(new(pflag.FlagSet))}
		if got := o.Drains(nil).Delay; got != test.want {
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
